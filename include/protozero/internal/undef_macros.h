// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Undefines the macros of macros.h. It has no include guard, because it is
// included many times.
#undef PROTOZERO_ABI_BEGIN
#undef PROTOZERO_ABI_END
#undef PROTOZERO_ABI_NAMESPACE
#undef PROTOZERO_ALWAYS_INLINE
#undef PROTOZERO_COLD
#undef PROTOZERO_DCHECK
#undef PROTOZERO_EXPORT
#undef PROTOZERO_HIDDEN
#undef PROTOZERO_HOT
#undef PROTOZERO_INLINE_LAMBDA
#undef PROTOZERO_IS_CONSTANT
#undef PROTOZERO_LIKELY
#undef PROTOZERO_NOINLINE
#undef PROTOZERO_RUNTIME
#undef PROTOZERO_UNLIKELY
