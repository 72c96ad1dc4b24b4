// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_NAMESPACE_H_
#define INCLUDE_PROTOZERO_INTERNAL_NAMESPACE_H_

// Users write `protozero::Message`. Its symbols are those of
// `protozero::pz_0_1::Message`: Perfetto's SDK and Mapbox's library have a
// namespace `protozero`, too, and two versions of this library may be in one
// program. If two things had one name, the linker would report it, or silently
// call one for the other.
//
// The name is that of the release, for every release may change the ABI, and of
// the choice below.

// Whether setters encode in place, or call a function that does. The bytes are
// the same. In place, which strings of up to 64 bytes, and beginning and ending
// messages, are as well, is faster where the code has run before, and takes 50
// to 300 bytes a field. A call is 20: for code that has to be fetched first, as
// that of most events has.
//
// For the whole program, and built into the library: an inline function of a
// user that calls setters has one body. A file that was compiled otherwise does
// not link, for the library has none of what it calls. In a single place that
// is hot, AppendFields() and EncodeMessage() are in place in any case.
#if !defined(PROTOZERO_INLINE_SETTERS)
#define PROTOZERO_INLINE_SETTERS 0
#endif

#if PROTOZERO_INLINE_SETTERS
#define PROTOZERO_ABI_NAMESPACE pz_0_1_in_place
#else
#define PROTOZERO_ABI_NAMESPACE pz_0_1
#endif

// From anywhere, whatever else is called `protozero` or `internal` there.
#define PROTOZERO_RUNTIME ::protozero::PROTOZERO_ABI_NAMESPACE

// What the library declares in `protozero` stands between these two.
#if !defined(PROTOZERO_NAMESPACE)
#define PROTOZERO_ABI_BEGIN inline namespace PROTOZERO_ABI_NAMESPACE {
#else
// For files that include another library's namespace `protozero`, too: there it
// is that library's alone, and this one's is called PROTOZERO_NAMESPACE. It
// means the same types and functions, so that files may differ.
#define PROTOZERO_ABI_BEGIN namespace PROTOZERO_ABI_NAMESPACE {
namespace protozero {
PROTOZERO_ABI_BEGIN
}
}  // namespace protozero
namespace PROTOZERO_NAMESPACE = ::protozero::PROTOZERO_ABI_NAMESPACE;
#endif
#define PROTOZERO_ABI_END }

// The library's objects hide their symbols, so that those of a shared library
// or a program that they are linked into are of no concern to others. A shared
// library of its own shows what stands behind PROTOZERO_EXPORT, which
// src/protozero/exports.txt lists: what users call, and what inline code calls
// for them. Its build, and those of its users, define PROTOZERO_SHARED to 1.
#if defined(PROTOZERO_SHARED) && PROTOZERO_SHARED && defined(__GNUC__)
#define PROTOZERO_EXPORT __attribute__((visibility("default")))
#else
#define PROTOZERO_EXPORT
#endif

#endif  // INCLUDE_PROTOZERO_INTERNAL_NAMESPACE_H_
