// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_NAMESPACE_H_
#define INCLUDE_PROTOZERO_NAMESPACE_H_

// Users write `protozero::Message`. Its symbols are those of
// `protozero::pz_0_1::Message`: Perfetto's SDK and Mapbox's library have a
// namespace `protozero`, too, and two versions of this library may be in one
// program. If two things had one name, the linker would report it, or silently
// call one for the other.
//
// The name is that of the release, for every release may change the ABI.
#define PROTOZERO_ABI_NAMESPACE pz_0_1

// From anywhere, whatever else is called `protozero` or `internal` there.
#define PROTOZERO_RUNTIME ::protozero::PROTOZERO_ABI_NAMESPACE

// What the library declares in `protozero` stands between these two.
#define PROTOZERO_ABI_BEGIN inline namespace PROTOZERO_ABI_NAMESPACE {
#define PROTOZERO_ABI_END }

#endif  // INCLUDE_PROTOZERO_NAMESPACE_H_
