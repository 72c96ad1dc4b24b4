// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Calls every function of include/protozero/c and prints the bytes that it
// writes and reads: see c_compilers_test.py.

#include "protozero/c/pbz_decoder.h"
#include "protozero/c/pbz_writer.h"
#include "protozero/c/pbz_task.h"

#include <stdio.h>

typedef struct Buffers {
  uint8_t chunks[64][16];
  size_t used[64];
  size_t count;
} Buffers;

static pbz_chunk next_chunk(void *context, size_t used) {
  Buffers *const buffers = (Buffers *)context;
  pbz_chunk chunk;
  if (buffers->count != 0)
    buffers->used[buffers->count - 1] = used;
  chunk.begin = buffers->chunks[buffers->count++];
  chunk.end = chunk.begin + 16;
  return chunk;
}

static uint8_t *annotate_patch(void *context, uint8_t *patch) {
  (void)context;
  return patch;
}

static void write_all(pbz_message *root) {
  static const int32_t int32[] = {-1, 0, 300};
  static const int64_t int64[] = {-1, 0, 300};
  static const uint32_t uint32[] = {1, 2, 300};
  static const uint64_t uint64[] = {1, 2, 300};
  static const float floats[] = {1, -2};
  static const double doubles[] = {1, -2};
  static const bool bools[] = {true, false};
  pbz_message child, grandchild;
  pbz_append_int32(root, 1, -5);
  pbz_append_int64(root, 2, -5);
  pbz_append_uint32(root, 3, 3000000000u);
  pbz_append_uint64(root, 4, (uint64_t)1 << 60);
  pbz_append_sint32(root, 5, -5);
  pbz_append_sint64(root, 6, -5);
  pbz_append_bool(root, 7, true);
  pbz_append_fixed32(root, 8, 5);
  pbz_append_sfixed32(root, 9, -5);
  pbz_append_fixed64(root, 10, 5);
  pbz_append_sfixed64(root, 11, -5);
  pbz_append_float(root, 12, 1.5f);
  pbz_append_double(root, 13, -1.5);
  pbz_append_bytes(root, 14, "bytes", 5);
  pbz_append_string(root, 15, "string");
  pbz_begin_nested(&child, root, 16);
  pbz_begin_group(&grandchild, &child, 1);
  pbz_append_string(&grandchild, 1, "in a group");
  (void)pbz_end(&grandchild);
  pbz_append_encoded(&child, "\x08\x05", 2);
  (void)pbz_end(&child);
  pbz_append_packed_int32(root, 21, int32, 3);
  pbz_append_packed_int64(root, 22, int64, 3);
  pbz_append_packed_uint32(root, 23, uint32, 3);
  pbz_append_packed_uint64(root, 24, uint64, 3);
  pbz_append_packed_sint32(root, 25, int32, 3);
  pbz_append_packed_sint64(root, 26, int64, 3);
  pbz_append_packed_bool(root, 27, bools, 2);
  pbz_append_packed_fixed32(root, 28, uint32, 3);
  pbz_append_packed_sfixed32(root, 29, int32, 3);
  pbz_append_packed_fixed64(root, 30, uint64, 3);
  pbz_append_packed_sfixed64(root, 31, int64, 3);
  pbz_append_packed_float(root, 32, floats, 2);
  pbz_append_packed_double(root, 33, doubles, 2);
}

static void print_bytes(const uint8_t *bytes, size_t size) {
  size_t i;
  for (i = 0; i < size; ++i)
    printf("%02x", bytes[i]);
}

static void print_fields(const uint8_t *bytes, size_t size) {
  pbz_decoder decoder;
  pbz_field field, number;
  pbz_packed packed;
  pbz_decoder_init(&decoder, bytes, size);
  while (pbz_decoder_next(&decoder, &field)) {
    printf("%u: %lu %ld %lu %ld %ld %ld %d %g %g '", (unsigned)field.number,
           (unsigned long)pbz_field_uint64(&field),
           (long)pbz_field_int64(&field),
           (unsigned long)pbz_field_uint32(&field),
           (long)pbz_field_int32(&field), (long)pbz_field_sint32(&field),
           (long)pbz_field_sint64(&field), pbz_field_bool(&field),
           (double)pbz_field_float(&field), pbz_field_double(&field));
    print_bytes(field.data, field.size);
    pbz_packed_init(&packed, &field, PBZ_WIRE_VARINT);
    while (pbz_packed_next(&packed, &number))
      printf(" %ld", (long)pbz_field_int64(&number));
    printf("' %s\n", pbz_decode_status_string(packed.status));
  }
  printf("%s\n", pbz_decode_status_string(decoder.status));
}

int main(void) {
  uint8_t whole[512];
  static Buffers buffers;
  pbz_delegate delegate;
  pbz_writer writer;
  pbz_message root;
  size_t i, size;

  pbz_writer_init_buffer(&writer, whole, sizeof(whole));
  pbz_begin(&root, &writer);
  write_all(&root);
  size = pbz_end(&root);
  printf("%s %u\n", pbz_status_string(pbz_writer_status(&writer)),
         (unsigned)pbz_writer_written(&writer));
  print_bytes(whole, size);
  printf("\n");
  print_fields(whole, size);

  delegate.next_chunk = next_chunk;
  delegate.annotate_patch = annotate_patch;
  delegate.context = &buffers;
  pbz_writer_init(&writer, &delegate);
  pbz_begin(&root, &writer);
  write_all(&root);
  (void)pbz_end(&root);
  buffers.used[buffers.count - 1] = (size_t)(writer.pos - writer.begin);
  for (i = 0; i < buffers.count; ++i)
    print_bytes(buffers.chunks[i], buffers.used[i]);
  printf("\n%s\n", pbz_status_string(pbz_writer_status(&writer)));
  return 0;
}
