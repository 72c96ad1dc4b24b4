// Made from test/protos/plugin/golden.proto by protozero_plugin. Do not edit.

#ifndef TEST_PROTOS_PLUGIN_GOLDEN_PBZERO_C_H_39452983_
#define TEST_PROTOS_PLUGIN_GOLDEN_PBZERO_C_H_39452983_

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>
#include <stdint.h>

#include "protozero/c/pbz_writer.h"
#include "test/protos/plugin/golden_public.pbzero_c.h"

struct golden_base_Base;
struct golden_imported_Imported;
struct golden_imported_Imported_Inner;
struct golden_shared_Shared;
struct google_protobuf_FieldOptions;

/// Comments become doc comments, this of two lines
/// and those behind a declaration, too.
typedef int32_t golden_main_TopLevel;
enum {
  /// As is this.
  golden_main_ZERO = 0,
  golden_main_NULL_OBJECT = 0,
  golden_main_MINUS_ONE = -1,
  golden_main_LOWEST = -2147483647 - 1,
  golden_main_HIGHEST = 2147483647
};

/// The message.
typedef struct golden_main_Everything {
  pbz_message message;
} golden_main_Everything;
enum {
  golden_main_Everything_field_double_number = 1,
  golden_main_Everything_field_float_number = 2,
  golden_main_Everything_field_int64_number = 3,
  golden_main_Everything_field_uint64_number = 4,
  golden_main_Everything_field_int32_number = 5,
  golden_main_Everything_field_fixed64_number = 6,
  golden_main_Everything_field_fixed32_number = 7,
  golden_main_Everything_field_bool_number = 8,
  golden_main_Everything_field_string_number = 9,
  golden_main_Everything_field_message_number = 10,
  golden_main_Everything_field_bytes_number = 11,
  golden_main_Everything_field_uint32_number = 12,
  golden_main_Everything_field_enum_number = 13,
  golden_main_Everything_field_sfixed32_number = 14,
  golden_main_Everything_field_sfixed64_number = 15,
  golden_main_Everything_field_sint32_number = 16,
  golden_main_Everything_field_sint64_number = 17,
  golden_main_Everything_repeated_double_number = 31,
  golden_main_Everything_repeated_string_number = 32,
  golden_main_Everything_repeated_bytes_number = 33,
  golden_main_Everything_repeated_message_number = 34,
  golden_main_Everything_repeated_enum_number = 35,
  golden_main_Everything_repeated_sint64_number = 36,
  golden_main_Everything_packed_double_number = 41,
  golden_main_Everything_packed_float_number = 42,
  golden_main_Everything_packed_int64_number = 43,
  golden_main_Everything_packed_uint64_number = 44,
  golden_main_Everything_packed_int32_number = 45,
  golden_main_Everything_packed_fixed64_number = 46,
  golden_main_Everything_packed_fixed32_number = 47,
  golden_main_Everything_packed_bool_number = 48,
  golden_main_Everything_packed_uint32_number = 49,
  golden_main_Everything_packed_enum_number = 50,
  golden_main_Everything_packed_sfixed32_number = 51,
  golden_main_Everything_packed_sfixed64_number = 52,
  golden_main_Everything_packed_sint32_number = 53,
  golden_main_Everything_packed_sint64_number = 54,
  golden_main_Everything_string_to_message_number = 61,
  golden_main_Everything_sint_to_enum_number = 62,
  golden_main_Everything_number_number = 71,
  golden_main_Everything_text_number = 72,
  golden_main_Everything_lazy_number = 81,
  golden_main_Everything_lazies_number = 82,
  golden_main_Everything_with_default_number = 91,
  golden_main_Everything_largest_id_number = 536870911,
  golden_main_Everything_onegroup_number = 201,
  golden_main_Everything_manygroups_number = 202,
  golden_main_Everything_uint_to_bytes_number = 211,
  golden_main_Everything_bool_to_double_number = 212,
  golden_main_Everything_fixed_to_string_number = 213,
  golden_main_Everything_default_int32_number = 221,
  golden_main_Everything_default_int64_number = 222,
  golden_main_Everything_default_uint32_number = 223,
  golden_main_Everything_default_uint64_number = 224,
  golden_main_Everything_default_sint32_number = 225,
  golden_main_Everything_default_fixed64_number = 226,
  golden_main_Everything_default_bool_number = 227,
  golden_main_Everything_default_float_number = 228,
  golden_main_Everything_default_double_number = 229,
  golden_main_Everything_infinite_float_number = 230,
  golden_main_Everything_infinite_double_number = 231,
  golden_main_Everything_nan_double_number = 232,
  golden_main_Everything_negative_zero_number = 233,
  golden_main_Everything_default_string_number = 234,
  golden_main_Everything_default_bytes_number = 235,
  golden_main_Everything_default_enum_number = 236,
  golden_main_Everything_first_enum_number = 237,
  golden_main_Everything_chosen_message_number = 241,
  golden_main_Everything_chosen_enum_number = 242,
  golden_main_Everything_chosen_double_number = 243,
  golden_main_Everything_chosen_bytes_number = 244,
  golden_main_Everything_chosengroup_number = 245
};

typedef struct golden_main_Everything_StringToMessageEntry {
  pbz_message message;
} golden_main_Everything_StringToMessageEntry;
enum {
  golden_main_Everything_StringToMessageEntry_key_number = 1,
  golden_main_Everything_StringToMessageEntry_value_number = 2
};

typedef struct golden_main_Everything_SintToEnumEntry {
  pbz_message message;
} golden_main_Everything_SintToEnumEntry;
enum {
  golden_main_Everything_SintToEnumEntry_key_number = 1,
  golden_main_Everything_SintToEnumEntry_value_number = 2
};

typedef struct golden_main_Everything_Nested {
  pbz_message message;
} golden_main_Everything_Nested;
enum {
  golden_main_Everything_Nested_up_number = 1,
  golden_main_Everything_Nested_deep_number = 2
};

typedef int32_t golden_main_Everything_Nested_Deep_Kind;
enum {
  golden_main_Everything_Nested_Deep_NONE = 0,
  golden_main_Everything_Nested_Deep_SOME = 1
};

typedef struct golden_main_Everything_Nested_Deep {
  pbz_message message;
} golden_main_Everything_Nested_Deep;
enum {
  golden_main_Everything_Nested_Deep_kind_number = 1
};

/// Encoded between tags in place of a size.
typedef struct golden_main_Everything_OneGroup {
  pbz_message message;
} golden_main_Everything_OneGroup;
enum {
  golden_main_Everything_OneGroup_x_number = 1
};

typedef struct golden_main_Everything_ManyGroups {
  pbz_message message;
} golden_main_Everything_ManyGroups;
enum {
  golden_main_Everything_ManyGroups_inner_number = 1
};

typedef struct golden_main_Everything_UintToBytesEntry {
  pbz_message message;
} golden_main_Everything_UintToBytesEntry;
enum {
  golden_main_Everything_UintToBytesEntry_key_number = 1,
  golden_main_Everything_UintToBytesEntry_value_number = 2
};

typedef struct golden_main_Everything_BoolToDoubleEntry {
  pbz_message message;
} golden_main_Everything_BoolToDoubleEntry;
enum {
  golden_main_Everything_BoolToDoubleEntry_key_number = 1,
  golden_main_Everything_BoolToDoubleEntry_value_number = 2
};

typedef struct golden_main_Everything_FixedToStringEntry {
  pbz_message message;
} golden_main_Everything_FixedToStringEntry;
enum {
  golden_main_Everything_FixedToStringEntry_key_number = 1,
  golden_main_Everything_FixedToStringEntry_value_number = 2
};

typedef struct golden_main_Everything_ChosenGroup {
  pbz_message message;
} golden_main_Everything_ChosenGroup;
enum {
  golden_main_Everything_ChosenGroup_x_number = 1
};

typedef struct golden_main_Empty {
  pbz_message message;
} golden_main_Empty;

/// Types of other files: only those that no included header has are declared.
typedef struct golden_main_Foreign {
  pbz_message message;
} golden_main_Foreign;
enum {
  golden_main_Foreign_imported_number = 1,
  golden_main_Foreign_inner_number = 2,
  golden_main_Foreign_nested_kind_number = 3,
  golden_main_Foreign_level_number = 4,
  golden_main_Foreign_shared_number = 5,
  golden_main_Foreign_colors_number = 6,
  golden_main_Foreign_base_number = 7
};

/// Extensions only, each an item with the number of the extension in it.
typedef struct golden_main_MessageSet {
  pbz_message message;
} golden_main_MessageSet;

typedef struct golden_main_SetItems {
  pbz_message message;
} golden_main_SetItems;
enum {
  golden_main_SetItems_x_number = 1
};

/// Extensions: of one message and alone, of two messages, next to fields, at
/// file level, and options.
typedef struct golden_main_Wrapper {
  pbz_message message;
} golden_main_Wrapper;

typedef struct golden_main_Mixed {
  pbz_message message;
} golden_main_Mixed;
enum {
  golden_main_Mixed_name_number = 1
};

typedef struct golden_main_Mixed_ExtraGroup {
  pbz_message message;
} golden_main_Mixed_ExtraGroup;
enum {
  golden_main_Mixed_ExtraGroup_x_number = 1
};

typedef struct golden_main_Service {
  pbz_message message;
} golden_main_Service;
enum {
  golden_main_Service_id_number = 1
};

static inline void golden_main_Everything_begin(golden_main_Everything* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
/// The backslash at the end of this would continue in the next line: ?
static inline void golden_main_Everything_set_field_double(golden_main_Everything* message, double value) {
  pbz_append_double(&message->message, golden_main_Everything_field_double_number, value);
}
static inline void golden_main_Everything_set_field_float(golden_main_Everything* message, float value) {
  pbz_append_float(&message->message, golden_main_Everything_field_float_number, value);
}
static inline void golden_main_Everything_set_field_int64(golden_main_Everything* message, int64_t value) {
  pbz_append_int64(&message->message, golden_main_Everything_field_int64_number, value);
}
static inline void golden_main_Everything_set_field_uint64(golden_main_Everything* message, uint64_t value) {
  pbz_append_uint64(&message->message, golden_main_Everything_field_uint64_number, value);
}
static inline void golden_main_Everything_set_field_int32(golden_main_Everything* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Everything_field_int32_number, value);
}
static inline void golden_main_Everything_set_field_fixed64(golden_main_Everything* message, uint64_t value) {
  pbz_append_fixed64(&message->message, golden_main_Everything_field_fixed64_number, value);
}
static inline void golden_main_Everything_set_field_fixed32(golden_main_Everything* message, uint32_t value) {
  pbz_append_fixed32(&message->message, golden_main_Everything_field_fixed32_number, value);
}
static inline void golden_main_Everything_set_field_bool(golden_main_Everything* message, bool value) {
  pbz_append_bool(&message->message, golden_main_Everything_field_bool_number, value);
}
static inline void golden_main_Everything_set_field_string(golden_main_Everything* message, const char* string) {
  pbz_append_string(&message->message, golden_main_Everything_field_string_number, string);
}
static inline void golden_main_Everything_set_field_string_n(golden_main_Everything* message, const char* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Everything_field_string_number, data, size);
}
static inline void golden_main_Everything_begin_field_message(golden_main_Everything* message, golden_main_Everything_Nested* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_field_message_number);
}
static inline void golden_main_Everything_set_field_bytes(golden_main_Everything* message, const void* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Everything_field_bytes_number, data, size);
}
static inline void golden_main_Everything_set_field_uint32(golden_main_Everything* message, uint32_t value) {
  pbz_append_uint32(&message->message, golden_main_Everything_field_uint32_number, value);
}
static inline void golden_main_Everything_set_field_enum(golden_main_Everything* message, golden_main_TopLevel value) {
  pbz_append_int32(&message->message, golden_main_Everything_field_enum_number, value);
}
static inline void golden_main_Everything_set_field_sfixed32(golden_main_Everything* message, int32_t value) {
  pbz_append_sfixed32(&message->message, golden_main_Everything_field_sfixed32_number, value);
}
static inline void golden_main_Everything_set_field_sfixed64(golden_main_Everything* message, int64_t value) {
  pbz_append_sfixed64(&message->message, golden_main_Everything_field_sfixed64_number, value);
}
static inline void golden_main_Everything_set_field_sint32(golden_main_Everything* message, int32_t value) {
  pbz_append_sint32(&message->message, golden_main_Everything_field_sint32_number, value);
}
static inline void golden_main_Everything_set_field_sint64(golden_main_Everything* message, int64_t value) {
  pbz_append_sint64(&message->message, golden_main_Everything_field_sint64_number, value);
}
static inline void golden_main_Everything_add_repeated_double(golden_main_Everything* message, double value) {
  pbz_append_double(&message->message, golden_main_Everything_repeated_double_number, value);
}
static inline void golden_main_Everything_add_repeated_string(golden_main_Everything* message, const char* string) {
  pbz_append_string(&message->message, golden_main_Everything_repeated_string_number, string);
}
static inline void golden_main_Everything_add_repeated_string_n(golden_main_Everything* message, const char* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Everything_repeated_string_number, data, size);
}
static inline void golden_main_Everything_add_repeated_bytes(golden_main_Everything* message, const void* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Everything_repeated_bytes_number, data, size);
}
static inline void golden_main_Everything_begin_repeated_message(golden_main_Everything* message, golden_main_Everything_Nested* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_repeated_message_number);
}
static inline void golden_main_Everything_add_repeated_enum(golden_main_Everything* message, golden_main_Everything_Nested_Deep_Kind value) {
  pbz_append_int32(&message->message, golden_main_Everything_repeated_enum_number, value);
}
static inline void golden_main_Everything_add_repeated_sint64(golden_main_Everything* message, int64_t value) {
  pbz_append_sint64(&message->message, golden_main_Everything_repeated_sint64_number, value);
}
static inline void golden_main_Everything_set_packed_double(golden_main_Everything* message, const double* values, size_t count) {
  pbz_append_packed_double(&message->message, golden_main_Everything_packed_double_number, values, count);
}
static inline void golden_main_Everything_set_packed_float(golden_main_Everything* message, const float* values, size_t count) {
  pbz_append_packed_float(&message->message, golden_main_Everything_packed_float_number, values, count);
}
static inline void golden_main_Everything_set_packed_int64(golden_main_Everything* message, const int64_t* values, size_t count) {
  pbz_append_packed_int64(&message->message, golden_main_Everything_packed_int64_number, values, count);
}
static inline void golden_main_Everything_set_packed_uint64(golden_main_Everything* message, const uint64_t* values, size_t count) {
  pbz_append_packed_uint64(&message->message, golden_main_Everything_packed_uint64_number, values, count);
}
static inline void golden_main_Everything_set_packed_int32(golden_main_Everything* message, const int32_t* values, size_t count) {
  pbz_append_packed_int32(&message->message, golden_main_Everything_packed_int32_number, values, count);
}
static inline void golden_main_Everything_set_packed_fixed64(golden_main_Everything* message, const uint64_t* values, size_t count) {
  pbz_append_packed_fixed64(&message->message, golden_main_Everything_packed_fixed64_number, values, count);
}
static inline void golden_main_Everything_set_packed_fixed32(golden_main_Everything* message, const uint32_t* values, size_t count) {
  pbz_append_packed_fixed32(&message->message, golden_main_Everything_packed_fixed32_number, values, count);
}
static inline void golden_main_Everything_set_packed_bool(golden_main_Everything* message, const bool* values, size_t count) {
  pbz_append_packed_bool(&message->message, golden_main_Everything_packed_bool_number, values, count);
}
static inline void golden_main_Everything_set_packed_uint32(golden_main_Everything* message, const uint32_t* values, size_t count) {
  pbz_append_packed_uint32(&message->message, golden_main_Everything_packed_uint32_number, values, count);
}
static inline void golden_main_Everything_set_packed_enum(golden_main_Everything* message, const int32_t* values, size_t count) {
  pbz_append_packed_int32(&message->message, golden_main_Everything_packed_enum_number, values, count);
}
static inline void golden_main_Everything_set_packed_sfixed32(golden_main_Everything* message, const int32_t* values, size_t count) {
  pbz_append_packed_sfixed32(&message->message, golden_main_Everything_packed_sfixed32_number, values, count);
}
static inline void golden_main_Everything_set_packed_sfixed64(golden_main_Everything* message, const int64_t* values, size_t count) {
  pbz_append_packed_sfixed64(&message->message, golden_main_Everything_packed_sfixed64_number, values, count);
}
static inline void golden_main_Everything_set_packed_sint32(golden_main_Everything* message, const int32_t* values, size_t count) {
  pbz_append_packed_sint32(&message->message, golden_main_Everything_packed_sint32_number, values, count);
}
static inline void golden_main_Everything_set_packed_sint64(golden_main_Everything* message, const int64_t* values, size_t count) {
  pbz_append_packed_sint64(&message->message, golden_main_Everything_packed_sint64_number, values, count);
}
static inline void golden_main_Everything_begin_string_to_message(golden_main_Everything* message, golden_main_Everything_StringToMessageEntry* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_string_to_message_number);
}
static inline void golden_main_Everything_begin_sint_to_enum(golden_main_Everything* message, golden_main_Everything_SintToEnumEntry* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_sint_to_enum_number);
}
/// Of a member.
static inline void golden_main_Everything_set_number(golden_main_Everything* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Everything_number_number, value);
}
static inline void golden_main_Everything_set_text(golden_main_Everything* message, const char* string) {
  pbz_append_string(&message->message, golden_main_Everything_text_number, string);
}
static inline void golden_main_Everything_set_text_n(golden_main_Everything* message, const char* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Everything_text_number, data, size);
}
static inline void golden_main_Everything_begin_lazy(golden_main_Everything* message, golden_main_Everything* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_lazy_number);
}
static inline void golden_main_Everything_begin_lazies(golden_main_Everything* message, golden_main_Everything_Nested* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_lazies_number);
}
static inline void golden_main_Everything_set_with_default(golden_main_Everything* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Everything_with_default_number, value);
}
static inline void golden_main_Everything_set_largest_id(golden_main_Everything* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Everything_largest_id_number, value);
}
static inline void golden_main_Everything_begin_onegroup(golden_main_Everything* message, golden_main_Everything_OneGroup* child) {
  pbz_begin_group(&child->message, &message->message, golden_main_Everything_onegroup_number);
}
static inline void golden_main_Everything_begin_manygroups(golden_main_Everything* message, golden_main_Everything_ManyGroups* child) {
  pbz_begin_group(&child->message, &message->message, golden_main_Everything_manygroups_number);
}
static inline void golden_main_Everything_begin_uint_to_bytes(golden_main_Everything* message, golden_main_Everything_UintToBytesEntry* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_uint_to_bytes_number);
}
static inline void golden_main_Everything_begin_bool_to_double(golden_main_Everything* message, golden_main_Everything_BoolToDoubleEntry* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_bool_to_double_number);
}
static inline void golden_main_Everything_begin_fixed_to_string(golden_main_Everything* message, golden_main_Everything_FixedToStringEntry* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_fixed_to_string_number);
}
static inline void golden_main_Everything_set_default_int32(golden_main_Everything* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Everything_default_int32_number, value);
}
static inline void golden_main_Everything_set_default_int64(golden_main_Everything* message, int64_t value) {
  pbz_append_int64(&message->message, golden_main_Everything_default_int64_number, value);
}
static inline void golden_main_Everything_set_default_uint32(golden_main_Everything* message, uint32_t value) {
  pbz_append_uint32(&message->message, golden_main_Everything_default_uint32_number, value);
}
static inline void golden_main_Everything_set_default_uint64(golden_main_Everything* message, uint64_t value) {
  pbz_append_uint64(&message->message, golden_main_Everything_default_uint64_number, value);
}
static inline void golden_main_Everything_set_default_sint32(golden_main_Everything* message, int32_t value) {
  pbz_append_sint32(&message->message, golden_main_Everything_default_sint32_number, value);
}
static inline void golden_main_Everything_set_default_fixed64(golden_main_Everything* message, uint64_t value) {
  pbz_append_fixed64(&message->message, golden_main_Everything_default_fixed64_number, value);
}
static inline void golden_main_Everything_set_default_bool(golden_main_Everything* message, bool value) {
  pbz_append_bool(&message->message, golden_main_Everything_default_bool_number, value);
}
static inline void golden_main_Everything_set_default_float(golden_main_Everything* message, float value) {
  pbz_append_float(&message->message, golden_main_Everything_default_float_number, value);
}
static inline void golden_main_Everything_set_default_double(golden_main_Everything* message, double value) {
  pbz_append_double(&message->message, golden_main_Everything_default_double_number, value);
}
static inline void golden_main_Everything_set_infinite_float(golden_main_Everything* message, float value) {
  pbz_append_float(&message->message, golden_main_Everything_infinite_float_number, value);
}
static inline void golden_main_Everything_set_infinite_double(golden_main_Everything* message, double value) {
  pbz_append_double(&message->message, golden_main_Everything_infinite_double_number, value);
}
static inline void golden_main_Everything_set_nan_double(golden_main_Everything* message, double value) {
  pbz_append_double(&message->message, golden_main_Everything_nan_double_number, value);
}
static inline void golden_main_Everything_set_negative_zero(golden_main_Everything* message, double value) {
  pbz_append_double(&message->message, golden_main_Everything_negative_zero_number, value);
}
static inline void golden_main_Everything_set_default_string(golden_main_Everything* message, const char* string) {
  pbz_append_string(&message->message, golden_main_Everything_default_string_number, string);
}
static inline void golden_main_Everything_set_default_string_n(golden_main_Everything* message, const char* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Everything_default_string_number, data, size);
}
static inline void golden_main_Everything_set_default_bytes(golden_main_Everything* message, const void* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Everything_default_bytes_number, data, size);
}
static inline void golden_main_Everything_set_default_enum(golden_main_Everything* message, golden_main_TopLevel value) {
  pbz_append_int32(&message->message, golden_main_Everything_default_enum_number, value);
}
static inline void golden_main_Everything_set_first_enum(golden_main_Everything* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Everything_first_enum_number, value);
}
static inline void golden_main_Everything_begin_chosen_message(golden_main_Everything* message, golden_main_Everything_Nested* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_chosen_message_number);
}
static inline void golden_main_Everything_set_chosen_enum(golden_main_Everything* message, golden_main_TopLevel value) {
  pbz_append_int32(&message->message, golden_main_Everything_chosen_enum_number, value);
}
static inline void golden_main_Everything_set_chosen_double(golden_main_Everything* message, double value) {
  pbz_append_double(&message->message, golden_main_Everything_chosen_double_number, value);
}
static inline void golden_main_Everything_set_chosen_bytes(golden_main_Everything* message, const void* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Everything_chosen_bytes_number, data, size);
}
static inline void golden_main_Everything_begin_chosengroup(golden_main_Everything* message, golden_main_Everything_ChosenGroup* child) {
  pbz_begin_group(&child->message, &message->message, golden_main_Everything_chosengroup_number);
}
static inline uint32_t golden_main_Everything_end(golden_main_Everything* message) { return pbz_end(&message->message); }

static inline void golden_main_Everything_StringToMessageEntry_begin(golden_main_Everything_StringToMessageEntry* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Everything_StringToMessageEntry_set_key(golden_main_Everything_StringToMessageEntry* message, const char* string) {
  pbz_append_string(&message->message, golden_main_Everything_StringToMessageEntry_key_number, string);
}
static inline void golden_main_Everything_StringToMessageEntry_set_key_n(golden_main_Everything_StringToMessageEntry* message, const char* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Everything_StringToMessageEntry_key_number, data, size);
}
static inline void golden_main_Everything_StringToMessageEntry_begin_value(golden_main_Everything_StringToMessageEntry* message, golden_main_Everything_Nested* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_StringToMessageEntry_value_number);
}
static inline uint32_t golden_main_Everything_StringToMessageEntry_end(golden_main_Everything_StringToMessageEntry* message) {
  return pbz_end(&message->message);
}

static inline void golden_main_Everything_SintToEnumEntry_begin(golden_main_Everything_SintToEnumEntry* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Everything_SintToEnumEntry_set_key(golden_main_Everything_SintToEnumEntry* message, int32_t value) {
  pbz_append_sint32(&message->message, golden_main_Everything_SintToEnumEntry_key_number, value);
}
static inline void golden_main_Everything_SintToEnumEntry_set_value(golden_main_Everything_SintToEnumEntry* message, golden_main_TopLevel value) {
  pbz_append_int32(&message->message, golden_main_Everything_SintToEnumEntry_value_number, value);
}
static inline uint32_t golden_main_Everything_SintToEnumEntry_end(golden_main_Everything_SintToEnumEntry* message) {
  return pbz_end(&message->message);
}

static inline void golden_main_Everything_Nested_begin(golden_main_Everything_Nested* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Everything_Nested_begin_up(golden_main_Everything_Nested* message, golden_main_Everything* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_Nested_up_number);
}
static inline void golden_main_Everything_Nested_begin_deep(golden_main_Everything_Nested* message, golden_main_Everything_Nested_Deep* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_Nested_deep_number);
}
static inline uint32_t golden_main_Everything_Nested_end(golden_main_Everything_Nested* message) {
  return pbz_end(&message->message);
}

static inline void golden_main_Everything_Nested_Deep_begin(golden_main_Everything_Nested_Deep* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Everything_Nested_Deep_set_kind(golden_main_Everything_Nested_Deep* message, golden_main_Everything_Nested_Deep_Kind value) {
  pbz_append_int32(&message->message, golden_main_Everything_Nested_Deep_kind_number, value);
}
static inline uint32_t golden_main_Everything_Nested_Deep_end(golden_main_Everything_Nested_Deep* message) {
  return pbz_end(&message->message);
}

static inline void golden_main_Everything_OneGroup_begin(golden_main_Everything_OneGroup* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Everything_OneGroup_set_x(golden_main_Everything_OneGroup* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Everything_OneGroup_x_number, value);
}
static inline uint32_t golden_main_Everything_OneGroup_end(golden_main_Everything_OneGroup* message) {
  return pbz_end(&message->message);
}

static inline void golden_main_Everything_ManyGroups_begin(golden_main_Everything_ManyGroups* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Everything_ManyGroups_begin_inner(golden_main_Everything_ManyGroups* message, golden_main_Everything_OneGroup* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Everything_ManyGroups_inner_number);
}
static inline uint32_t golden_main_Everything_ManyGroups_end(golden_main_Everything_ManyGroups* message) {
  return pbz_end(&message->message);
}

static inline void golden_main_Everything_UintToBytesEntry_begin(golden_main_Everything_UintToBytesEntry* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Everything_UintToBytesEntry_set_key(golden_main_Everything_UintToBytesEntry* message, uint64_t value) {
  pbz_append_uint64(&message->message, golden_main_Everything_UintToBytesEntry_key_number, value);
}
static inline void golden_main_Everything_UintToBytesEntry_set_value(golden_main_Everything_UintToBytesEntry* message, const void* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Everything_UintToBytesEntry_value_number, data, size);
}
static inline uint32_t golden_main_Everything_UintToBytesEntry_end(golden_main_Everything_UintToBytesEntry* message) {
  return pbz_end(&message->message);
}

static inline void golden_main_Everything_BoolToDoubleEntry_begin(golden_main_Everything_BoolToDoubleEntry* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Everything_BoolToDoubleEntry_set_key(golden_main_Everything_BoolToDoubleEntry* message, bool value) {
  pbz_append_bool(&message->message, golden_main_Everything_BoolToDoubleEntry_key_number, value);
}
static inline void golden_main_Everything_BoolToDoubleEntry_set_value(golden_main_Everything_BoolToDoubleEntry* message, double value) {
  pbz_append_double(&message->message, golden_main_Everything_BoolToDoubleEntry_value_number, value);
}
static inline uint32_t golden_main_Everything_BoolToDoubleEntry_end(golden_main_Everything_BoolToDoubleEntry* message) {
  return pbz_end(&message->message);
}

static inline void golden_main_Everything_FixedToStringEntry_begin(golden_main_Everything_FixedToStringEntry* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Everything_FixedToStringEntry_set_key(golden_main_Everything_FixedToStringEntry* message, uint32_t value) {
  pbz_append_fixed32(&message->message, golden_main_Everything_FixedToStringEntry_key_number, value);
}
static inline void golden_main_Everything_FixedToStringEntry_set_value(golden_main_Everything_FixedToStringEntry* message, const char* string) {
  pbz_append_string(&message->message, golden_main_Everything_FixedToStringEntry_value_number, string);
}
static inline void golden_main_Everything_FixedToStringEntry_set_value_n(golden_main_Everything_FixedToStringEntry* message, const char* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Everything_FixedToStringEntry_value_number, data, size);
}
static inline uint32_t golden_main_Everything_FixedToStringEntry_end(golden_main_Everything_FixedToStringEntry* message) {
  return pbz_end(&message->message);
}

static inline void golden_main_Everything_ChosenGroup_begin(golden_main_Everything_ChosenGroup* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Everything_ChosenGroup_set_x(golden_main_Everything_ChosenGroup* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Everything_ChosenGroup_x_number, value);
}
static inline uint32_t golden_main_Everything_ChosenGroup_end(golden_main_Everything_ChosenGroup* message) {
  return pbz_end(&message->message);
}

static inline void golden_main_Empty_begin(golden_main_Empty* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline uint32_t golden_main_Empty_end(golden_main_Empty* message) { return pbz_end(&message->message); }

static inline void golden_main_Foreign_begin(golden_main_Foreign* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Foreign_begin_imported(golden_main_Foreign* message, struct golden_imported_Imported* child) {
  pbz_begin_nested((pbz_message*)(void*)child, &message->message, golden_main_Foreign_imported_number);
}
static inline void golden_main_Foreign_begin_inner(golden_main_Foreign* message, struct golden_imported_Imported_Inner* child) {
  pbz_begin_nested((pbz_message*)(void*)child, &message->message, golden_main_Foreign_inner_number);
}
static inline void golden_main_Foreign_set_nested_kind(golden_main_Foreign* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Foreign_nested_kind_number, value);
}
static inline void golden_main_Foreign_set_level(golden_main_Foreign* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Foreign_level_number, value);
}
static inline void golden_main_Foreign_begin_shared(golden_main_Foreign* message, struct golden_shared_Shared* child) {
  pbz_begin_nested((pbz_message*)(void*)child, &message->message, golden_main_Foreign_shared_number);
}
static inline void golden_main_Foreign_add_colors(golden_main_Foreign* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Foreign_colors_number, value);
}
static inline void golden_main_Foreign_begin_base(golden_main_Foreign* message, struct golden_base_Base* child) {
  pbz_begin_nested((pbz_message*)(void*)child, &message->message, golden_main_Foreign_base_number);
}
static inline uint32_t golden_main_Foreign_end(golden_main_Foreign* message) { return pbz_end(&message->message); }

static inline void golden_main_MessageSet_begin(golden_main_MessageSet* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline uint32_t golden_main_MessageSet_end(golden_main_MessageSet* message) { return pbz_end(&message->message); }

static inline void golden_main_SetItems_begin(golden_main_SetItems* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_SetItems_set_x(golden_main_SetItems* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_SetItems_x_number, value);
}
static inline uint32_t golden_main_SetItems_end(golden_main_SetItems* message) { return pbz_end(&message->message); }

enum {
  golden_main_SetItems_item_number = 2000000000,
  golden_main_SetItems_other_number = 5
};
// The item is to end after the child.
static inline void golden_main_SetItems_begin_item(golden_main_MessageSet* message, pbz_message* item, golden_main_SetItems* child) {
  pbz_begin_group(item, &message->message, 1);
  pbz_append_int32(item, 2, golden_main_SetItems_item_number);
  pbz_begin_nested(&child->message, item, 3);
}
// The item is to end after the child.
static inline void golden_main_SetItems_begin_other(golden_main_MessageSet* message, pbz_message* item, golden_main_Empty* child) {
  pbz_begin_group(item, &message->message, 1);
  pbz_append_int32(item, 2, golden_main_SetItems_other_number);
  pbz_begin_nested(&child->message, item, 3);
}

static inline void golden_main_Wrapper_begin(golden_main_Wrapper* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline uint32_t golden_main_Wrapper_end(golden_main_Wrapper* message) { return pbz_end(&message->message); }

enum {
  golden_main_Wrapper_extra_number = 1000,
  golden_main_Wrapper_extras_number = 1001,
  golden_main_Wrapper_extra_enum_number = 1004
};
static inline void golden_main_Wrapper_set_extra(golden_main_Everything* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Wrapper_extra_number, value);
}
static inline void golden_main_Wrapper_set_extras(golden_main_Everything* message, const int32_t* values, size_t count) {
  pbz_append_packed_sint32(&message->message, golden_main_Wrapper_extras_number, values, count);
}
static inline void golden_main_Wrapper_set_extra_enum(golden_main_Everything* message, golden_main_TopLevel value) {
  pbz_append_int32(&message->message, golden_main_Wrapper_extra_enum_number, value);
}

static inline void golden_main_Mixed_begin(golden_main_Mixed* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Mixed_set_name(golden_main_Mixed* message, const char* string) {
  pbz_append_string(&message->message, golden_main_Mixed_name_number, string);
}
static inline void golden_main_Mixed_set_name_n(golden_main_Mixed* message, const char* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_Mixed_name_number, data, size);
}
static inline uint32_t golden_main_Mixed_end(golden_main_Mixed* message) { return pbz_end(&message->message); }

enum {
  golden_main_Mixed_mixed_number = 1002,
  golden_main_Mixed_extragroup_number = 1005
};
static inline void golden_main_Mixed_begin_mixed(golden_main_Everything* message, golden_main_Mixed* child) {
  pbz_begin_nested(&child->message, &message->message, golden_main_Mixed_mixed_number);
}
static inline void golden_main_Mixed_begin_extragroup(golden_main_Everything* message, golden_main_Mixed_ExtraGroup* child) {
  pbz_begin_group(&child->message, &message->message, golden_main_Mixed_extragroup_number);
}

enum {
  golden_main_Mixed_mixed_too_number = 100
};
static inline void golden_main_Mixed_begin_mixed_too(struct golden_base_Base* message, golden_main_Mixed* child) {
  pbz_begin_nested(&child->message, (pbz_message*)(void*)message, golden_main_Mixed_mixed_too_number);
}

static inline void golden_main_Mixed_ExtraGroup_begin(golden_main_Mixed_ExtraGroup* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Mixed_ExtraGroup_set_x(golden_main_Mixed_ExtraGroup* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Mixed_ExtraGroup_x_number, value);
}
static inline uint32_t golden_main_Mixed_ExtraGroup_end(golden_main_Mixed_ExtraGroup* message) {
  return pbz_end(&message->message);
}

static inline void golden_main_Service_begin(golden_main_Service* message, pbz_writer* writer) {
  pbz_begin(&message->message, writer);
}
static inline void golden_main_Service_set_id(golden_main_Service* message, int32_t value) {
  pbz_append_int32(&message->message, golden_main_Service_id_number, value);
}
static inline uint32_t golden_main_Service_end(golden_main_Service* message) { return pbz_end(&message->message); }

enum {
  golden_main_at_file_level_number = 1003
};
static inline void golden_main_set_at_file_level(golden_main_Everything* message, const char* string) {
  pbz_append_string(&message->message, golden_main_at_file_level_number, string);
}
static inline void golden_main_set_at_file_level_n(golden_main_Everything* message, const char* data, size_t size) {
  pbz_append_bytes(&message->message, golden_main_at_file_level_number, data, size);
}

enum {
  golden_main_unit_number = 50000
};
static inline void golden_main_set_unit(struct google_protobuf_FieldOptions* message, const char* string) {
  pbz_append_string((pbz_message*)(void*)message, golden_main_unit_number, string);
}
static inline void golden_main_set_unit_n(struct google_protobuf_FieldOptions* message, const char* data, size_t size) {
  pbz_append_bytes((pbz_message*)(void*)message, golden_main_unit_number, data, size);
}

#endif  // TEST_PROTOS_PLUGIN_GOLDEN_PBZERO_C_H_39452983_
