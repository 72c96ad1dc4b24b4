// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/scheduling/symbol_packets.h"

#include <memory>
#include <vector>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/scheduling/symbolizer.h"
#include "src/pztrace/trace_file/shown_name.h"

namespace pztrace {

namespace {

namespace trace = protozero::trace;

// The number of addresses in a packet, which keeps packets short.
constexpr size_t kAddressesOfPacket = 1024;

// The packets of one file.
class FileSymbols {
 public:
  FileSymbols(const std::pair<std::string, std::string>& file,
              const std::function<bool(const std::string&)>& write)
      : file_(file), write_(write) {}

  bool Add(uint64_t address, const std::vector<Symbolizer::Line>& lines) {
    if (number_ == 0) {
      symbols_ = packets_->add_packet()->set_module_symbols();
      symbols_->set_path(file_.first);
      symbols_->set_build_id(file_.second);
    }
    auto* const symbol = symbols_->add_address_symbols();
    symbol->set_address(address);
    for (const Symbolizer::Line& line : lines) {
      auto* const message = symbol->add_lines();
      message->set_function_name(line.function);
      if (!line.file.empty())
        message->set_source_file_name(line.file);
      if (line.number != 0)
        message->set_line_number(line.number);
    }
    return ++number_ < kAddressesOfPacket || Flush();
  }
  bool Flush() {
    if (number_ == 0)
      return true;
    number_ = 0;
    const std::string bytes = packets_.SerializeAsString();
    packets_.Reset();
    return write_(bytes);
  }

 private:
  const std::pair<std::string, std::string>& file_;
  const std::function<bool(const std::string&)>& write_;
  protozero::HeapBuffered<trace::Trace> packets_;
  trace::ModuleSymbols* symbols_ = nullptr;
  size_t number_ = 0;
};

}  // namespace

SymbolCounts WriteSymbolPackets(
    const AddressesOfFiles& addresses,
    const std::string& root,
    const protozero::internal::CodeMaps* maps,
    const std::function<bool(const std::string&)>& write) {
  SymbolCounts counts;
  for (const auto& [file, places] : addresses) {
    auto symbolizer = std::make_unique<Symbolizer>();
    std::string error;
    bool is_open = symbolizer->Open(root, file.first, file.second, &error);
    const std::string place = is_open || maps == nullptr
                                  ? ""
                                  : maps->KeptFile(file.first, file.second);
    if (!place.empty()) {
      symbolizer = std::make_unique<Symbolizer>();
      is_open = symbolizer->Open(place, "", file.second, &error);
    }
    if (!is_open) {
      counts.not_found += places.size();
      if (maps == nullptr) {
        program::PrintError(kProgram, "no names of functions of %s: %s",
                            ShownName(file.first).c_str(), error.c_str());
      }
      continue;
    }
    FileSymbols symbols(file, write);
    for (const uint64_t address : places) {
      const std::vector<Symbolizer::Line> lines = symbolizer->Find(address);
      ++(lines.empty() ? counts.not_found : counts.found);
      if (!lines.empty() && !symbols.Add(address, lines))
        return counts;
    }
    if (!symbols.Flush())
      return counts;
  }
  return counts;
}

}  // namespace pztrace
