// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_DIFFERENTIAL_DIFFERENTIAL_CASE_H_
#define TEST_DIFFERENTIAL_DIFFERENTIAL_CASE_H_

#include <stddef.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protozero/c/pbz_writer.h"
#include "protozero/message.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/proto_decoder.h"
#include "protozero/root_message.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/static_buffer.h"
#include "test/differential/reader.h"
#include "test/differential/recorder.h"

// The header of generated drivers and their interface.

namespace protozero::test {

// Elements in one array, which a std::vector<bool> does not have.
template <typename T>
class Array {
 public:
  explicit Array(const std::vector<T>& values)
      : values_(new T[values.size()]), size_(values.size()) {
    std::copy(values.begin(), values.end(), values_.get());
  }
  const T* data() const { return values_.get(); }
  size_t size() const { return size_; }

 private:
  std::unique_ptr<T[]> values_;
  size_t size_;
};

// Makes a child for a C function that begins it.
template <typename Message, typename Child>
Child NewChild(void (*)(Message*, Child*)) {
  return Child();
}

// One message type that a driver writes and reads, and the ways to do so.
struct DifferentialCase {
  const char* full_name;
  // The message with the `extend` block whose fields the driver knows; empty if
  // it knows no extensions.
  const char* extension_scope;
  void (*to_stream)(const Recorder& recorder, ScatteredStreamWriter* writer);
  // Writes it with the functions that are generated for C.
  void (*to_c_stream)(const Recorder& recorder, pbz_writer* writer);
  std::string (*to_heap)(const Recorder& recorder,
                         size_t initial_slice_size,
                         size_t maximum_slice_size);
  // Returns the size, or 0 if there are not enough bytes.
  size_t (*to_buffer)(const Recorder& recorder, void* buffer, size_t size);
  // Reads all fields and writes them again. Returns the bytes.
  std::string (*copy)(const Reader& reader);
};

template <typename Root,
          void (*write)(Root*, Recorder),
          void (*read)(Reader, Root*),
          typename CRoot,
          void (*write_c)(CRoot*, Recorder)>
DifferentialCase MakeDifferentialCase(const char* full_name,
                                      const char* extension_scope) {
  return {full_name,
          extension_scope,
          [](const Recorder& recorder, ScatteredStreamWriter* writer) {
            RootMessage<Root> message;
            message.Reset(writer);
            write(&message, recorder);
            static_cast<Message&>(message).Finalize();
          },
          [](const Recorder& recorder, pbz_writer* writer) {
            CRoot message;
            pbz_begin(&message.message, writer);
            write_c(&message, recorder);
            pbz_end(&message.message);
          },
          [](const Recorder& recorder, size_t initial_slice_size,
             size_t maximum_slice_size) {
            HeapBuffered<Root> message(initial_slice_size, maximum_slice_size);
            write(message.get(), recorder);
            return message.SerializeAsString();
          },
          [](const Recorder& recorder, void* buffer, size_t size) {
            StaticBuffered<Root> message(buffer, size);
            write(message.get(), recorder);
            return message.Finalize();
          },
          [](const Reader& reader) {
            HeapBuffered<Root> message;
            read(reader, message.get());
            return message.SerializeAsString();
          }};
}

// Return all types of all drivers, and their FileDescriptorSet. The generated
// code defines these functions.
std::vector<DifferentialCase> AllDifferentialCases();
std::string_view DifferentialDescriptors();

}  // namespace protozero::test

#endif  // TEST_DIFFERENTIAL_DIFFERENTIAL_CASE_H_
