// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_CONFIG_H_
#define INCLUDE_PROTOZERO_CONFIG_H_

// The macros that users set: on the compiler's command line, or in front of all
// headers of the library where they may differ between files. No other macro of
// ours is visible behind an #include of the library or of generated code, but
// include guards.

// PROTOZERO_INLINE_SETTERS: whether setters encode in place (1), or call a
// function that does (0). The bytes are the same. In place, which strings of up
// to 64 bytes, and beginning and ending messages, are as well, is faster where
// the code has run before, and takes 50 to 300 bytes a field. A call is 20: for
// code that has to be fetched first, as that of most events has.
//
// For the whole program, and built into the library: an inline function of a
// user that calls setters has one body. A file that was compiled otherwise does
// not link, for the library has none of what it calls. In a single place that
// is hot, AppendFields() and EncodeMessage() are in place in any case.
#if !defined(PROTOZERO_INLINE_SETTERS)
#define PROTOZERO_INLINE_SETTERS 0
#endif

// PROTOZERO_DCHECK_IS_ON: whether a caller's mistake stops the program. On by
// default in builds without NDEBUG. Files may differ: no layout depends on it.
// Where it is off, the runtime still tolerates the mistake: nothing outside of
// the buffers is touched, and what is written remains protobuf. Comments say
// what happens to the write.
#if !defined(PROTOZERO_DCHECK_IS_ON)
#if defined(NDEBUG)
#define PROTOZERO_DCHECK_IS_ON 0
#else
#define PROTOZERO_DCHECK_IS_ON 1
#endif
#endif

// PROTOZERO_NAMESPACE: another name for this library's namespace `protozero`,
// for files that include another library's namespace `protozero`, too: there it
// is that library's alone, and this one's is called PROTOZERO_NAMESPACE. Not
// defined by default. It means the same types and functions, so that files may
// differ.

// PROTOZERO_SHARED: 1 if the runtime is a shared library. For its build and
// those of its users.
#if !defined(PROTOZERO_SHARED)
#define PROTOZERO_SHARED 0
#endif

// PROTOZERO_USE_BIT_DEPOSIT: 0, for a whole program and the library, makes the
// inline code of setters portable: for processors without BMI2, or where `pdep`
// takes long (AMD before Zen 3), a setter then takes about half the time. On by
// default for x86-64.
//
// PROTOZERO_FORCE_BIG_ENDIAN_PATH, if defined, has a little-endian machine run
// the code that big-endian ones run. The bytes are the same. For tests.
#if !defined(PROTOZERO_USE_BIT_DEPOSIT)
#if defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__) && \
    !defined(PROTOZERO_FORCE_BIG_ENDIAN_PATH)
#define PROTOZERO_USE_BIT_DEPOSIT 1
#else
#define PROTOZERO_USE_BIT_DEPOSIT 0
#endif
#endif

#endif  // INCLUDE_PROTOZERO_CONFIG_H_
