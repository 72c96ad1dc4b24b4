// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/scheduling/symbolizer.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tracing/scheduling/process_files.h"

namespace pztrace {

using protozero::internal::kVdso;
using protozero::internal::OpenVdso;

namespace {

struct Free {
  void operator()(void* memory) const { free(memory); }
};

std::string Demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, Free> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status));
  return text != nullptr ? text.get() : name;
}

// Returns the name of a function in the debug information.
std::string NameOf(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    const char* const name =
        dwarf_formstring(dwarf_attr_integrate(function, kind, &attribute));
    if (name != nullptr)
      return Demangle(name);
  }
  const char* const name = dwarf_diename(function);
  return name != nullptr ? name : "";
}

// Returns a number that the debug information has of a call, or 0.
Dwarf_Word NumberOf(Dwarf_Die* call, unsigned kind) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr(call, kind, &attribute), &number) != 0)
    return 0;
  return number;
}

}  // namespace

class Symbolizer::Impl {
 public:
  explicit Impl(const std::string& root)
      : debug_folders_(":.debug:" + root + "/usr/lib/debug"),
        debug_path_(debug_folders_.data()),
        callbacks_{dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                   dwfl_offline_section_address, &debug_path_},
        session_(dwfl_begin(&callbacks_)) {}
  ~Impl() { dwfl_end(session_); }

  bool Open(const std::string& root,
            const std::string& path,
            const std::string& build_id,
            std::string* error) {
    const int fd =
        path == std::string("/") + kVdso
            ? OpenVdso()
            : open((root + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
      *error = strerror(errno);
      return false;
    }
    dwfl_report_begin(session_);
    // The library closes |fd| if this succeeds.
    module_ = dwfl_report_elf(session_, path.c_str(), (root + path).c_str(), fd,
                              /*base=*/0, /*add_p_vaddr=*/true);
    dwfl_report_end(session_, nullptr, nullptr);
    if (module_ == nullptr) {
      *error = dwfl_errmsg(-1);
      close(fd);
      return false;
    }
    Dwarf_Addr bias = 0;
    dwfl_module_getelf(module_, &bias);
    const unsigned char* bytes = nullptr;
    GElf_Addr place = 0;
    const int size = dwfl_module_build_id(module_, &bytes, &place);
    if (!build_id.empty() &&
        (size != static_cast<int>(build_id.size()) ||
         memcmp(bytes, build_id.data(), build_id.size()) != 0)) {
      *error = "it is another version of the file";
      return false;
    }
    return true;
  }

  std::vector<Line> Find(uint64_t address) {
    std::vector<Line> lines = FindInDebugInformation(address);
    if (!lines.empty() && !lines.back().function.empty())
      return lines;
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* const name = dwfl_module_addrinfo(
        module_, address, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name == nullptr)
      return lines;
    if (lines.empty())
      lines.push_back(SourceOf(address));
    lines.back().function = Demangle(name);
    return lines;
  }

 private:
  // Returns the place in the source, without a function.
  Line SourceOf(uint64_t address) {
    Line line;
    Dwfl_Line* const source = dwfl_module_getsrc(module_, address);
    int number = 0;
    const char* const file = source == nullptr
                                 ? nullptr
                                 : dwfl_lineinfo(source, nullptr, &number,
                                                 nullptr, nullptr, nullptr);
    if (file != nullptr) {
      line.file = file;
      line.number = static_cast<uint32_t>(number);
    }
    return line;
  }

  std::vector<Line> FindInDebugInformation(uint64_t address) {
    std::vector<Line> lines;
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = dwfl_module_addrdie(module_, address, &bias);
    Dwarf_Die* innermost = nullptr;
    if (unit == nullptr ||
        dwarf_getscopes(unit, address - bias, &innermost) <= 0) {
      return lines;
    }
    const std::unique_ptr<Dwarf_Die, Free> innermost_owner(innermost);
    // The scopes around the innermost one as it was compiled, not as it was
    // written.
    Dwarf_Die* scopes = nullptr;
    const int number = dwarf_getscopes_die(innermost, &scopes);
    const std::unique_ptr<Dwarf_Die, Free> scopes_owner(scopes);
    Dwarf_Files* files = nullptr;
    size_t num_files = 0;
    dwarf_getsrcfiles(unit, &files, &num_files);
    Line line = SourceOf(address);
    for (int i = 0; i < number; ++i) {
      const int tag = dwarf_tag(&scopes[i]);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
        continue;
      line.function = NameOf(&scopes[i]);
      lines.push_back(line);
      if (tag == DW_TAG_subprogram)
        break;
      const Dwarf_Word file = NumberOf(&scopes[i], DW_AT_call_file);
      const char* const name =
          file < num_files ? dwarf_filesrc(files, file, nullptr, nullptr)
                           : nullptr;
      line.file = name != nullptr ? name : "";
      line.number =
          static_cast<uint32_t>(NumberOf(&scopes[i], DW_AT_call_line));
    }
    return lines;
  }

  std::string debug_folders_;
  char* debug_path_;
  const Dwfl_Callbacks callbacks_;
  Dwfl* const session_;
  Dwfl_Module* module_ = nullptr;
};

Symbolizer::Symbolizer() = default;
Symbolizer::~Symbolizer() = default;

bool Symbolizer::IsBuilt() {
  return true;
}

bool Symbolizer::Open(const std::string& root,
                      const std::string& path,
                      const std::string& build_id,
                      std::string* error) {
  impl_ = std::make_unique<Impl>(root);
  return impl_->Open(root, path, build_id, error);
}

std::vector<Symbolizer::Line> Symbolizer::Find(uint64_t address) {
  return impl_->Find(address);
}

}  // namespace pztrace
