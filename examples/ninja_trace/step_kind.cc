// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/step_kind.h"

namespace ninja_trace {

namespace {

struct ExtensionKind {
  std::string_view extension;
  StepKind kind;
};

constexpr ExtensionKind kExtensionKinds[] = {
    {".o", StepKind::kCompile},     {".obj", StepKind::kCompile},
    {".pch", StepKind::kCompile},   {".gch", StepKind::kCompile},
    {".pcm", StepKind::kCompile},   {".rlib", StepKind::kCompile},
    {".rmeta", StepKind::kCompile}, {".class", StepKind::kCompile},
    {".a", StepKind::kArchive},     {".lib", StepKind::kArchive},
    {".jar", StepKind::kArchive},   {".so", StepKind::kLink},
    {".TOC", StepKind::kLink},      {".dylib", StepKind::kLink},
    {".dll", StepKind::kLink},      {".exe", StepKind::kLink},
    {".h", StepKind::kGenerate},    {".hh", StepKind::kGenerate},
    {".hpp", StepKind::kGenerate},  {".inc", StepKind::kGenerate},
    {".c", StepKind::kGenerate},    {".cc", StepKind::kGenerate},
    {".cpp", StepKind::kGenerate},  {".cxx", StepKind::kGenerate},
    {".py", StepKind::kGenerate},   {".rs", StepKind::kGenerate},
    {".java", StepKind::kGenerate}, {".json", StepKind::kGenerate},
    {".txt", StepKind::kGenerate},  {".ninja", StepKind::kGenerate},
    {".stamp", StepKind::kStamp},
};

}  // namespace

StepKind GuessStepKind(std::string_view output) {
  const std::string_view name = output.substr(output.find_last_of('/') + 1);
  const size_t dot = name.find_last_of('.');
  // On most systems, programs have no extension.
  if (dot == std::string_view::npos || dot == 0)
    return StepKind::kLink;
  const std::string_view extension = name.substr(dot);
  for (const ExtensionKind& candidate : kExtensionKinds) {
    if (extension == candidate.extension)
      return candidate.kind;
  }
  if (name.find(".so.") != std::string_view::npos)
    return StepKind::kLink;
  return StepKind::kOther;
}

const char* StepKindName(StepKind kind) {
  switch (kind) {
    case StepKind::kCompile:
      return "compile";
    case StepKind::kArchive:
      return "archive";
    case StepKind::kLink:
      return "link";
    case StepKind::kGenerate:
      return "generate";
    case StepKind::kStamp:
      return "stamp";
    case StepKind::kOther:
      return "other";
  }
  return "other";
}

}  // namespace ninja_trace
