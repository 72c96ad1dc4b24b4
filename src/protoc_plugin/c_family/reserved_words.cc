// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/c_family/reserved_words.h"

#include <stddef.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "src/protoc_plugin/c_family/system_macros.h"
#include "src/protoc_plugin/naming.h"

namespace protozero::plugin {

namespace {

// Each table is sorted by byte value for the binary search in Contains(). A
// line has as many words as fit:
// clang-format off

// Keywords and alternative tokens of C++17 and C++20, and `typeof` of GNU C++.
constexpr std::string_view kKeywords[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor",
    "bool", "break", "case", "catch", "char", "char16_t", "char32_t", "char8_t",
    "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype",
    "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
    "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept",
    "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
    "protected", "public", "register", "reinterpret_cast", "requires", "return",
    "short", "signed", "sizeof", "static", "static_assert", "static_cast",
    "struct", "switch", "template", "this", "thread_local", "throw", "true",
    "try", "typedef", "typeid", "typename", "typeof", "union", "unsigned",
    "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
};

// The macros of <errno.h>. Other names that begin with E are not special, so no
// pattern will do.
constexpr std::string_view kErrnoMacros[] = {
    "E2BIG", "EACCES", "EADDRINUSE", "EADDRNOTAVAIL", "EADV", "EAFNOSUPPORT",
    "EAGAIN", "EALREADY", "EBADE", "EBADF", "EBADFD", "EBADMSG", "EBADR",
    "EBADRQC", "EBADSLT", "EBFONT", "EBUSY", "ECANCELED", "ECHILD", "ECHRNG",
    "ECOMM", "ECONNABORTED", "ECONNREFUSED", "ECONNRESET", "EDEADLK",
    "EDEADLOCK", "EDESTADDRREQ", "EDOM", "EDOTDOT", "EDQUOT", "EEXIST",
    "EFAULT", "EFBIG", "EHOSTDOWN", "EHOSTUNREACH", "EHWPOISON", "EIDRM",
    "EILSEQ", "EINPROGRESS", "EINTR", "EINVAL", "EIO", "EISCONN", "EISDIR",
    "EISNAM", "EKEYEXPIRED", "EKEYREJECTED", "EKEYREVOKED", "EL2HLT",
    "EL2NSYNC", "EL3HLT", "EL3RST", "ELIBACC", "ELIBBAD", "ELIBEXEC", "ELIBMAX",
    "ELIBSCN", "ELNRNG", "ELOOP", "EMEDIUMTYPE", "EMFILE", "EMLINK", "EMSGSIZE",
    "EMULTIHOP", "ENAMETOOLONG", "ENAVAIL", "ENETDOWN", "ENETRESET",
    "ENETUNREACH", "ENFILE", "ENOANO", "ENOBUFS", "ENOCSI", "ENODATA", "ENODEV",
    "ENOENT", "ENOEXEC", "ENOKEY", "ENOLCK", "ENOLINK", "ENOMEDIUM", "ENOMEM",
    "ENOMSG", "ENONET", "ENOPKG", "ENOPROTOOPT", "ENOSPC", "ENOSR", "ENOSTR",
    "ENOSYS", "ENOTBLK", "ENOTCONN", "ENOTDIR", "ENOTEMPTY", "ENOTNAM",
    "ENOTRECOVERABLE", "ENOTSOCK", "ENOTSUP", "ENOTTY", "ENOTUNIQ", "ENXIO",
    "EOPNOTSUPP", "EOVERFLOW", "EOWNERDEAD", "EPERM", "EPFNOSUPPORT", "EPIPE",
    "EPROTO", "EPROTONOSUPPORT", "EPROTOTYPE", "ERANGE", "EREMCHG", "EREMOTE",
    "EREMOTEIO", "ERESTART", "ERFKILL", "EROFS", "ESHUTDOWN", "ESOCKTNOSUPPORT",
    "ESPIPE", "ESRCH", "ESRMNT", "ESTALE", "ESTRPIPE", "ETIME", "ETIMEDOUT",
    "ETOOMANYREFS", "ETXTBSY", "EUCLEAN", "EUNATCH", "EUSERS", "EWOULDBLOCK",
    "EXDEV", "EXFULL",
};

// The macros of <signal.h>.
constexpr std::string_view kSignalMacros[] = {
    "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE",
    "SIGHUP", "SIGILL", "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE",
    "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMIN",
    "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP",
    "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2",
    "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ",
};

// Object-like macros of the other headers of ISO C. Function-like ones
// (`assert`) leave a bare name alone. Format macros (PRIu64) are left out.
constexpr std::string_view kStandardMacros[] = {
    "BUFSIZ", "CHAR_BIT", "CHAR_MAX", "CHAR_MIN", "CLOCKS_PER_SEC",
    "DBL_DECIMAL_DIG", "DBL_DIG", "DBL_EPSILON", "DBL_HAS_SUBNORM",
    "DBL_MANT_DIG", "DBL_MAX", "DBL_MAX_10_EXP", "DBL_MAX_EXP", "DBL_MIN",
    "DBL_MIN_10_EXP", "DBL_MIN_EXP", "DBL_TRUE_MIN", "DECIMAL_DIG", "EOF",
    "EXIT_FAILURE", "EXIT_SUCCESS", "FE_ALL_EXCEPT", "FE_DFL_ENV",
    "FE_DIVBYZERO", "FE_DOWNWARD", "FE_INEXACT", "FE_INVALID", "FE_OVERFLOW",
    "FE_TONEAREST", "FE_TOWARDZERO", "FE_UNDERFLOW", "FE_UPWARD",
    "FILENAME_MAX", "FLT_DECIMAL_DIG", "FLT_DIG", "FLT_EPSILON",
    "FLT_EVAL_METHOD", "FLT_HAS_SUBNORM", "FLT_MANT_DIG", "FLT_MAX",
    "FLT_MAX_10_EXP", "FLT_MAX_EXP", "FLT_MIN", "FLT_MIN_10_EXP", "FLT_MIN_EXP",
    "FLT_RADIX", "FLT_ROUNDS", "FLT_TRUE_MIN", "FOPEN_MAX", "FP_ILOGB0",
    "FP_ILOGBNAN", "FP_INFINITE", "FP_NAN", "FP_NORMAL", "FP_SUBNORMAL",
    "FP_ZERO", "HUGE_VAL", "HUGE_VALF", "HUGE_VALL", "INFINITY", "INT16_MAX",
    "INT16_MIN", "INT32_MAX", "INT32_MIN", "INT64_MAX", "INT64_MIN", "INT8_MAX",
    "INT8_MIN", "INTMAX_MAX", "INTMAX_MIN", "INTPTR_MAX", "INTPTR_MIN",
    "INT_FAST16_MAX", "INT_FAST16_MIN", "INT_FAST32_MAX", "INT_FAST32_MIN",
    "INT_FAST64_MAX", "INT_FAST64_MIN", "INT_FAST8_MAX", "INT_FAST8_MIN",
    "INT_LEAST16_MAX", "INT_LEAST16_MIN", "INT_LEAST32_MAX", "INT_LEAST32_MIN",
    "INT_LEAST64_MAX", "INT_LEAST64_MIN", "INT_LEAST8_MAX", "INT_LEAST8_MIN",
    "INT_MAX", "INT_MIN", "LC_ADDRESS", "LC_ALL", "LC_COLLATE", "LC_CTYPE",
    "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY",
    "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
    "LDBL_DECIMAL_DIG", "LDBL_DIG", "LDBL_EPSILON", "LDBL_HAS_SUBNORM",
    "LDBL_MANT_DIG", "LDBL_MAX", "LDBL_MAX_10_EXP", "LDBL_MAX_EXP", "LDBL_MIN",
    "LDBL_MIN_10_EXP", "LDBL_MIN_EXP", "LDBL_TRUE_MIN", "LLONG_MAX",
    "LLONG_MIN", "LONG_MAX", "LONG_MIN", "L_tmpnam", "MATH_ERREXCEPT",
    "MATH_ERRNO", "MB_CUR_MAX", "MB_LEN_MAX", "NAN", "NULL", "PTRDIFF_MAX",
    "PTRDIFF_MIN", "RAND_MAX", "SCHAR_MAX", "SCHAR_MIN", "SEEK_CUR", "SEEK_END",
    "SEEK_SET", "SHRT_MAX", "SHRT_MIN", "SIG_ATOMIC_MAX", "SIG_ATOMIC_MIN",
    "SIG_DFL", "SIG_ERR", "SIG_IGN", "SIZE_MAX", "TIME_UTC", "TMP_MAX",
    "UCHAR_MAX", "UINT16_MAX", "UINT32_MAX", "UINT64_MAX", "UINT8_MAX",
    "UINTMAX_MAX", "UINTPTR_MAX", "UINT_FAST16_MAX", "UINT_FAST32_MAX",
    "UINT_FAST64_MAX", "UINT_FAST8_MAX", "UINT_LEAST16_MAX", "UINT_LEAST32_MAX",
    "UINT_LEAST64_MAX", "UINT_LEAST8_MAX", "UINT_MAX", "ULLONG_MAX",
    "ULONG_MAX", "USHRT_MAX", "WCHAR_MAX", "WCHAR_MIN", "WEOF", "WINT_MAX",
    "WINT_MIN", "errno", "math_errhandling", "stderr", "stdin", "stdout",
};

// Macros of POSIX and glibc headers that standard C++ headers pull in on some
// systems, and the ones that GNU C++ predefines.
constexpr std::string_view kSystemMacros[] = {
    "BIG_ENDIAN", "BYTE_ORDER", "CLOCK_BOOTTIME", "CLOCK_BOOTTIME_ALARM",
    "CLOCK_MONOTONIC", "CLOCK_MONOTONIC_COARSE", "CLOCK_MONOTONIC_RAW",
    "CLOCK_PROCESS_CPUTIME_ID", "CLOCK_REALTIME", "CLOCK_REALTIME_ALARM",
    "CLOCK_REALTIME_COARSE", "CLOCK_TAI", "CLOCK_THREAD_CPUTIME_ID",
    "HOST_NAME_MAX", "IOV_MAX", "LINE_MAX", "LITTLE_ENDIAN", "LONG_BIT",
    "MAXPATHLEN", "M_E", "M_LN10", "M_LN2", "M_PI", "NAME_MAX", "PATH_MAX",
    "PDP_ENDIAN", "PIPE_BUF", "SCHED_BATCH", "SCHED_DEADLINE", "SCHED_FIFO",
    "SCHED_IDLE", "SCHED_OTHER", "SCHED_RR", "SEEK_DATA", "SEEK_HOLE",
    "SSIZE_MAX", "TIMER_ABSTIME", "WCONTINUED", "WEXITED", "WNOHANG", "WNOWAIT",
    "WSTOPPED", "WUNTRACED", "i386", "linux", "major", "makedev", "minor",
    "unix",
};

// Function-like macros of ISO C and POSIX that standard C++ headers leave
// defined, and that a field could be named like.
constexpr std::string_view kFunctionMacros[] = {
    "FD_CLR", "FD_ISSET", "FD_SET", "FD_ZERO", "INT16_C", "INT32_C", "INT64_C",
    "INT8_C", "INTMAX_C", "S_ISBLK", "S_ISCHR", "S_ISDIR", "S_ISFIFO",
    "S_ISLNK", "S_ISREG", "S_ISSOCK", "TEMP_FAILURE_RETRY", "UINT16_C",
    "UINT32_C", "UINT64_C", "UINT8_C", "UINTMAX_C", "WCOREDUMP", "WEXITSTATUS",
    "WIFCONTINUED", "WIFEXITED", "WIFSIGNALED", "WIFSTOPPED", "WSTOPSIG",
    "WTERMSIG", "alloca", "assert", "assert_perror", "htonl", "htons", "ntohl",
    "ntohs", "offsetof", "setjmp", "sigmask", "sigsetjmp", "strdupa",
    "strndupa", "va_arg", "va_copy", "va_end", "va_start",
};

// Names that the C library declares in the global namespace: ISO C, without the
// variants for float and long double, and the words of POSIX that a package
// could well have as its name. With them go the namespaces that are not for
// users.
constexpr std::string_view kGlobalNames[] = {
    "FILE", "abort", "abs", "accept", "access", "acos", "alarm", "asctime",
    "asin", "atan", "atan2", "atexit", "atof", "atoi", "atol", "atoll",
    "basename", "bind", "brk", "bsearch", "calloc", "cbrt", "ceil", "chdir",
    "chmod", "chown", "clearerr", "clock", "close", "connect", "copysign",
    "cos", "cosh", "creat", "ctime", "daemon", "difftime", "dirname", "div",
    "div_t", "dup", "dup2", "erf", "erfc", "execv", "execve", "exit", "exp",
    "exp2", "expm1", "fabs", "fclose", "fcntl", "fdim", "feof", "ferror",
    "fflush", "fgetc", "fgets", "floor", "fma", "fmax", "fmin", "fmod", "fopen",
    "fork", "fprintf", "fputc", "fputs", "fread", "free", "freopen", "frexp",
    "fscanf", "fseek", "fsync", "ftell", "ftruncate", "fwrite", "gamma", "getc",
    "getchar", "getenv", "getline", "getopt", "getpid", "gets", "gmtime",
    "hypot", "ilogb", "index", "int16_t", "int32_t", "int64_t", "int8_t",
    "intmax_t", "intptr_t", "ioctl", "isalnum", "isalpha", "isatty", "isblank",
    "iscntrl", "isdigit", "isgraph", "islower", "isprint", "ispunct", "isspace",
    "isupper", "isxdigit", "j0", "j1", "jn", "kill", "labs", "ldexp", "ldiv",
    "lgamma", "link", "listen", "llabs", "locale_t", "localtime", "log",
    "log10", "log1p", "log2", "logb", "longjmp", "lrint", "lround", "lseek",
    "main", "malloc", "max_align_t", "mblen", "memchr", "memcmp", "memcpy",
    "memmove", "memset", "mkdir", "mktime", "mmap", "modf", "munmap", "nan",
    "nanosleep", "nice", "open", "optarg", "optind", "pause", "perror", "pipe",
    "poll", "posix", "pow", "printf", "profil", "protozero", "ptrdiff_t",
    "putc", "putchar", "puts", "qsort", "raise", "rand", "random", "read",
    "realloc", "recv", "remainder", "remove", "remquo", "rename", "rewind",
    "rindex", "rint", "rmdir", "round", "sbrk", "scanf", "select", "send",
    "setbuf", "setenv", "setlocale", "setvbuf", "shutdown", "signal", "sin",
    "sinh", "size_t", "sleep", "snprintf", "socket", "sprintf", "sqrt", "srand",
    "sscanf", "ssize_t", "stat", "std", "strcat", "strchr", "strcmp", "strcoll",
    "strcpy", "strcspn", "strdup", "strerror", "strftime", "strlen", "strncat",
    "strncmp", "strncpy", "strpbrk", "strrchr", "strspn", "strstr", "strtod",
    "strtof", "strtok", "strtol", "strtoll", "strtoul", "strtoull", "strxfrm",
    "swab", "symlink", "sync", "syscall", "system", "tan", "tanh", "tgamma",
    "time", "times", "timezone", "tm", "tmpfile", "tmpnam", "tolower",
    "toupper", "trunc", "truncate", "uint16_t", "uint32_t", "uint64_t",
    "uint8_t", "uintmax_t", "uintptr_t", "umask", "uname", "ungetc", "unlink",
    "usleep", "va_list", "vfork", "vprintf", "wait", "write", "y0", "y1", "yn",
};

// Public members of protozero::Message. A test compares this table with the
// header.
constexpr std::string_view kMessageMembers[] = {
    "AppendBool", "AppendBorrowedBytes", "AppendBytes", "AppendDouble",
    "AppendFixed", "AppendFixed32", "AppendFixed64", "AppendFloat",
    "AppendInt32", "AppendInt64",
    "AppendRawProtoBytes", "AppendScatteredBytes", "AppendSfixed32",
    "AppendSfixed64", "AppendSignedVarInt", "AppendSint32", "AppendSint64",
    "AppendString", "AppendTinyVarInt", "AppendUint32", "AppendUint64",
    "AppendVarInt",
    "BeginNestedGroup", "BeginNestedMessage", "Finalize", "Reset", "RollBackNestedMessage",
    "is_finalized", "nested_message", "set_size_field", "size_field",
    "stream_writer",
};

// Functions of protozero::MessageDecoder. A test compares this table with the
// golden file.
constexpr std::string_view kUsedOfDecoder[] = {
    "AsBool", "AsBytes", "AsDouble", "AsFloat", "AsInt32", "AsInt64",
    "AsSint32", "AsSint64", "AsString", "AsUint32", "AsUint64", "GetRepeated",
    "GetRepeatedScalar", "GetUnifiedRepeated", "Has", "WhichOneof",
};

constexpr std::string_view kBareNames[] = {
    "int32_t", "int64_t", "size_t", "uint32_t", "uint64_t", "uint8_t",
};

// clang-format on

template <size_t N>
constexpr bool IsSorted(const std::string_view (&words)[N]) {
  for (size_t i = 1; i < N; ++i) {
    if (!(words[i - 1] < words[i]))
      return false;
  }
  return true;
}

static_assert(IsSorted(kKeywords), "");
static_assert(IsSorted(kErrnoMacros), "");
static_assert(IsSorted(kSignalMacros), "");
static_assert(IsSorted(kStandardMacros), "");
static_assert(IsSorted(kSystemMacros), "");
static_assert(IsSorted(kGlobalNames), "");
static_assert(IsSorted(kMessageMembers), "");
static_assert(IsSorted(kBareNames), "");
static_assert(IsSorted(kFunctionMacros), "");
static_assert(IsSorted(kUsedOfDecoder), "");

template <size_t N>
bool Contains(const std::string_view (&words)[N], std::string_view word) {
  return std::binary_search(std::begin(words), std::end(words), word);
}

// Returns the part of a name that begins at `at` of a row.
std::string_view WordAt(std::string_view row, size_t at) {
  size_t end = at;
  // The characters of kSharedLengths are no letters, digits and underscores.
  while (end < row.size() && IsWordChar(row[end]))
    ++end;
  return row.substr(at, end - at);
}

bool Contains(const std::string_view* rows,
              size_t size,
              std::string_view word) {
  const std::string_view* after = std::upper_bound(
      rows, rows + size, word, [](std::string_view name, std::string_view row) {
        return name < WordAt(row, 1);
      });
  if (after == rows)
    return false;
  const std::string_view row = after[-1];
  size_t matching = 0;  // Characters that `word` shares with the last name.
  for (size_t at = 0; at < row.size();) {
    const size_t shared = kSharedLengths.find(row[at]);
    const std::string_view ending = WordAt(row, at + 1);
    if (shared <= matching) {
      const std::string_view rest = word.substr(shared);
      if (ending == rest)
        return true;
      matching = 0;
      while (matching < std::min(ending.size(), rest.size()) &&
             ending[matching] == rest[matching])
        ++matching;
      matching += shared;
    }
    at += 1 + ending.size();
  }
  return false;
}

bool IsElsewhere(std::string_view word) {
  return IsKeyword(word) || IsCommonMacro(word) || IsBareName(word);
}

}  // namespace

bool IsKeyword(std::string_view word) {
  return Contains(kKeywords, word);
}

bool IsCommonMacro(std::string_view word) {
  return Contains(kErrnoMacros, word) || Contains(kSignalMacros, word) ||
         Contains(kStandardMacros, word) || Contains(kSystemMacros, word);
}

bool IsSystemMacro(std::string_view word) {
  return !IsElsewhere(word) &&
         Contains(kSystemValueMacros, kSystemValueMacrosSize, word);
}

bool IsSystemFunctionMacro(std::string_view word) {
  return !IsElsewhere(word) &&
         Contains(kSystemFunctionMacros, kSystemFunctionMacrosSize, word);
}

bool IsNameOfC(std::string_view word) {
  return IsSystemMacro(word) || IsSystemFunctionMacro(word) ||
         Contains(kNamesOfC, kNamesOfCSize, word);
}

bool IsGlobalName(std::string_view word) {
  return Contains(kGlobalNames, word);
}

bool IsBareName(std::string_view word) {
  return Contains(kBareNames, word);
}

bool IsMessageMember(std::string_view word) {
  return Contains(kMessageMembers, word);
}

bool IsCallable(std::string_view word) {
  return !IsKeyword(word) && !IsCommonMacro(word) && !IsBareName(word) &&
         !Contains(kFunctionMacros, word);
}

bool IsUsedOfDecoder(std::string_view word) {
  return Contains(kUsedOfDecoder, word);
}

}  // namespace protozero::plugin
