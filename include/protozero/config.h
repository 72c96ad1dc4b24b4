// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_CONFIG_H_
#define INCLUDE_PROTOZERO_CONFIG_H_

// The macros that users see: the version, and below it the macros that you may
// set, on the compiler's command line or before the first header of the
// library. Headers of the library, and generated ones, leave no other macros
// visible except include guards.

// The version of the library, and of all that comes with it; every other file
// reads it from here. It is 10203 for 1.2.3. There are no macros for its parts,
// since Mapbox's protozero has PROTOZERO_VERSION_MAJOR, _MINOR and _PATCH.
#define PROTOZERO_VERSION 100

// PROTOZERO_GENERATION: generated headers compile only with a runtime of their
// plugin's generation. The number goes up when code that was generated before
// would no longer compile, or no longer mean the same.
#define PROTOZERO_GENERATION 1

// PROTOZERO_INLINE_SETTERS: with 1, setters encode in place; with 0, they call
// a function. Both write the same bytes. Encoding in place is faster in hot
// code, and takes 50 to 300 bytes of code a field; strings of up to 64 bytes
// and nested messages are in place, too. A call takes 20 bytes, which suits
// code that runs seldom: the processor has to fetch such code first.
//
// Set it for the whole program, the library included, since an inline function
// of yours that calls setters has one body. Files that differ from the library
// do not link: it has none of the functions that they call. For a single hot
// place, use AppendFields() and EncodeMessage(): they encode in place in any
// case.
#if !defined(PROTOZERO_INLINE_SETTERS)
#define PROTOZERO_INLINE_SETTERS 0
#endif

// PROTOZERO_DCHECK_IS_ON: 1 stops the program at a mistake of the caller. The
// default is 1 without NDEBUG. Files may differ, for no layout depends on it;
// the library's own setting decides whether writes to messages that have ended
// are noticed. With 0 the runtime still tolerates the mistake: it touches
// nothing outside of the buffers, and the bytes that it writes remain protobuf.
// Comments of functions say what happens to the write.
#if !defined(PROTOZERO_DCHECK_IS_ON)
#if defined(NDEBUG)
#define PROTOZERO_DCHECK_IS_ON 0
#else
#define PROTOZERO_DCHECK_IS_ON 1
#endif
#endif

// PROTOZERO_NAMESPACE: another name for our namespace `protozero`, in files
// that include another library with a namespace `protozero`. There, `protozero`
// means the other library alone. It is not defined by default. Files may
// differ: the types and functions are the same under both names.

// PROTOZERO_SHARED: 1 if the runtime is a shared library, for its own build and
// for its users.
#if !defined(PROTOZERO_SHARED)
#define PROTOZERO_SHARED 0
#endif

// PROTOZERO_USE_BIT_DEPOSIT: with 1, the default on x86-64, inline code of
// setters uses `pdep` where the processor has a fast one. 0 makes that code
// portable: on processors without BMI2 or with a slow `pdep` (AMD before Zen
// 3), a setter then takes about half the time. Set it for the whole program,
// the library included.
//
// PROTOZERO_FORCE_BIG_ENDIAN_PATH: if defined, a little-endian machine runs the
// code of big-endian ones, which writes the same bytes. For tests.
#if !defined(PROTOZERO_USE_BIT_DEPOSIT)
#if defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__) && \
    !defined(PROTOZERO_FORCE_BIG_ENDIAN_PATH)
#define PROTOZERO_USE_BIT_DEPOSIT 1
#else
#define PROTOZERO_USE_BIT_DEPOSIT 0
#endif
#endif

#endif  // INCLUDE_PROTOZERO_CONFIG_H_
