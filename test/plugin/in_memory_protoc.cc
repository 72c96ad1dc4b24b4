// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/plugin/in_memory_protoc.h"

#include <memory>

#include <google/protobuf/compiler/code_generator.h>
#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/common.h>

#include "src/protoc_plugin/generator.h"

namespace protozero::plugin {

using google::protobuf::FileDescriptor;

namespace {

class MapSourceTree : public google::protobuf::compiler::SourceTree {
 public:
  explicit MapSourceTree(const std::map<std::string, std::string>& files)
      : files_(files) {}

  // The parameter's type depends on the version of libprotobuf.
  google::protobuf::io::ZeroCopyInputStream* Open(
#if GOOGLE_PROTOBUF_VERSION >= 4022000
      absl::string_view path
#else
      const std::string& path
#endif
      ) override {
    const auto found = files_.find(std::string(path));
    if (found == files_.end())
      return nullptr;
    return new google::protobuf::io::ArrayInputStream(
        found->second.data(), static_cast<int>(found->second.size()));
  }

 private:
  const std::map<std::string, std::string>& files_;
};

class ErrorText : public google::protobuf::compiler::MultiFileErrorCollector {
 public:
#if GOOGLE_PROTOBUF_VERSION >= 4022000
  void RecordError(absl::string_view path,
                   int line,
                   int,
                   absl::string_view message) override {
    Add(std::string(path), line, std::string(message));
  }
#else
  void AddError(const std::string& path,
                int line,
                int,
                const std::string& message) override {
    Add(path, line, message);
  }
#endif

  const std::string& text() const { return text_; }

 private:
  void Add(const std::string& path, int line, const std::string& message) {
    text_ += "protoc: " + path + ":" + std::to_string(line + 1) + ": " +
             message + "\n";
  }

  std::string text_;
};

class MapContext : public google::protobuf::compiler::GeneratorContext {
 public:
  explicit MapContext(std::map<std::string, std::string>* files)
      : files_(*files) {}

  google::protobuf::io::ZeroCopyOutputStream* Open(
      const std::string& path) override {
    return new google::protobuf::io::StringOutputStream(&files_[path]);
  }

 private:
  std::map<std::string, std::string>& files_;
};

}  // namespace

ProtocResult RunProtoc(const std::map<std::string, std::string>& schemas,
                       const std::vector<std::string>& to_generate,
                       const std::string& parameter,
                       const std::vector<Language>& languages) {
  ProtocResult result;
  MapSourceTree tree(schemas);
  ErrorText errors;

  google::protobuf::compiler::SourceTreeDescriptorDatabase sources(&tree);
  sources.RecordErrorsTo(&errors);
  google::protobuf::SimpleDescriptorDatabase built_in;
  google::protobuf::FileDescriptorProto descriptor_proto;
  google::protobuf::FileDescriptorProto::descriptor()->file()->CopyTo(
      &descriptor_proto);
  built_in.Add(descriptor_proto);
  google::protobuf::MergedDescriptorDatabase database(&built_in, &sources);
  google::protobuf::DescriptorPool pool(&database,
                                        sources.GetValidationErrorCollector());

  std::vector<const FileDescriptor*> files;
  const auto parse = [&](const std::string& path) {
    const FileDescriptor* file = pool.FindFileByName(path);
    if (file != nullptr)
      files.push_back(file);
  };
  if (to_generate.empty()) {
    for (const auto& schema : schemas)
      parse(schema.first);
  } else {
    for (const std::string& path : to_generate)
      parse(path);
  }
  if (!errors.text().empty()) {
    result.error = errors.text();
    return result;
  }

  MapContext context(&result.files);
  result.ok = Generator(languages).GenerateAll(files, parameter, &context,
                                               &result.error);
  return result;
}

ProtocResult RunOnDescriptor(
    const google::protobuf::FileDescriptorProto& descriptor,
    const std::string& parameter) {
  ProtocResult result;
  google::protobuf::DescriptorPool pool;
  const FileDescriptor* file = pool.BuildFile(descriptor);
  if (file == nullptr) {
    result.error = "libprotobuf refuses the descriptor";
    return result;
  }
  MapContext context(&result.files);
  result.ok =
      Generator().GenerateAll({file}, parameter, &context, &result.error);
  return result;
}

ProtocResult RunProtoc(const std::string& schema) {
  return RunProtoc({{"a.proto", schema}});
}

}  // namespace protozero::plugin
