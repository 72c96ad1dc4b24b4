// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_C_FAMILY_RESERVED_WORDS_H_
#define SRC_PROTOC_PLUGIN_C_FAMILY_RESERVED_WORDS_H_

#include <string_view>

namespace protozero::plugin {

// Words that generated code cannot declare, or should not. Users see these
// sets: adding a word renames things in their generated code. Each function
// returns whether `word` is in one set.

// A keyword of C++17 or C++20.
bool IsKeyword(std::string_view word);

// Defined as a macro by a header of ISO C, or by one of POSIX that C++ headers
// include, or by the compiler. A program can hardly avoid such a macro.
bool IsCommonMacro(std::string_view word);

// Defined as a macro by some header of Linux or Windows (`ERROR`, `st_mtime`),
// and none of the above. Most programs never see these macros, and may use the
// name. So it stays, and gets a second name.
bool IsSystemMacro(std::string_view word);

// The same, for names that are macros only before a parenthesis.
bool IsSystemFunctionMacro(std::string_view word);

// Taken by some header in C: a macro of any kind, or declared at file scope.
bool IsNameOfC(std::string_view word);

// Declared in the global namespace by the C library.
bool IsGlobalName(std::string_view word);

// A type that generated code names without a qualifier: `int32_t`.
bool IsBareName(std::string_view word);

// A public member function of protozero::Message.
bool IsMessageMember(std::string_view word);

// May be the name of a member function that generated code neither calls nor
// passes around: no keyword, no macro, with or without arguments, and not a
// bare name.
bool IsCallable(std::string_view word);

// A function of protozero::MessageDecoder that generated getters call.
bool IsUsedOfDecoder(std::string_view word);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_C_FAMILY_RESERVED_WORDS_H_
