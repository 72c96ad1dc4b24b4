// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_INTEROP_WALKER_H_
#define TEST_INTEROP_WALKER_H_

#include <stddef.h>
#include <stdint.h>

#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "protozero/decode_status.h"
#include "protozero/field.h"
#include "protozero/message.h"
#include "protozero/proto_decoder.h"
#include "protozero/root_message.h"
#include "test/interop/tree.h"
#include "test/testing/chunked_stream.h"

// Writes trees with the generated classes, and makes trees with the generated
// decoders. The part for this schema is in walkers.cc, which
// generate_walkers.py writes.

namespace protozero::test {

// A way to write a message.
struct Form {
  const char* name;
  size_t chunk_size;
  // True for AppendFields() instead of setters.
  bool fused = false;
  // True for packed fields from builders instead of arrays, and for map entries
  // in one call instead of messages.
  bool other_setters = false;
  // True if each nested message is first written and rolled back.
  bool rolled_back = false;
};

// In the first form, nested messages have sizes of one byte if possible. In the
// others, they have sizes of four bytes at the end of each chunk.
inline constexpr Form kForms[] = {
    {"one chunk", 1 << 20},
    {"chunks of 4", 4},
    {"chunks of 64", 64},
    {"fused, one chunk", 1 << 20, true},
    {"fused, chunks of 48", 48, true},
    {"other setters, one chunk", 1 << 20, false, true},
    {"other setters, chunks of 16", 16, false, true},
    {"rolled back, one chunk", 1 << 20, false, false, true},
};

struct Walker {
  std::string (*write)(const Json& tree, const Form& form);
  // Sets |status| if |bytes| are malformed, and returns the fields before that.
  Json (*read)(std::string_view bytes, DecodeStatus* status);
};

// Returns the walkers by the names of messages, as in "package.Outer.Inner".
const std::map<std::string, Walker>& Walkers();

// The rest is for walkers.cc.

// A tag for the type of bytes fields.
struct Bytes;

inline bool HasAll(const Json& tree, std::initializer_list<const char*> ids) {
  for (const char* id : ids) {
    if (!tree.contains(id))
      return false;
  }
  return true;
}

template <typename T>
auto Value(const Json& value) {
  if constexpr (std::is_same_v<T, Bytes>) {
    return FromHexadecimal(value);
  } else if constexpr (std::is_same_v<T, std::string> ||
                       std::is_same_v<T, bool>) {
    return value.get<T>();
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(ParseNumber<int32_t>(value));
  } else {
    return ParseNumber<T>(value);
  }
}

// Returns the elements of a repeated field; a singular field is one element.
inline const Json& Elements(const Json& tree, const char* id, Json* storage) {
  const auto it = tree.find(id);
  if (it == tree.end())
    return *storage = Json::array();
  if (it->is_array())
    return *it;
  return *storage = Json::array({*it});
}

template <typename T, typename Setter>
void WriteScalars(const Json& tree, const char* id, const Setter& setter) {
  Json storage;
  for (const Json& element : Elements(tree, id, &storage))
    setter(Value<T>(element));
}

template <typename T, typename Builder, typename Setter>
void WritePacked(const Json& tree,
                 const char* id,
                 const Form& form,
                 const Setter& setter) {
  const auto it = tree.find(id);
  if (it == tree.end())
    return;
  const Json& elements = *it;
  if (form.other_setters) {
    Builder builder;
    for (const Json& element : elements)
      builder.Append(Value<T>(element));
    setter(builder);
  } else {
    // Not a vector, because a vector of bool has no array.
    const auto array = std::make_unique<T[]>(elements.size());
    size_t i = 0;
    for (const Json& element : elements)
      array[i++] = Value<T>(element);
    setter(array.get(), elements.size());
  }
}

template <typename Begin>
void WriteNested(const Json& tree,
                 const char* id,
                 const Form& form,
                 Message* message,
                 const Begin& begin) {
  Json storage;
  for (const Json& element : Elements(tree, id, &storage)) {
    if (form.rolled_back) {
      // Rolls back only on this level, because each level would double the
      // work.
      Form plain = form;
      plain.rolled_back = false;
      Write(element, plain, begin());
      if (!message->RollBackNestedMessage())
        throw std::runtime_error("cannot roll back");
    }
    Write(element, form, begin());
  }
}

template <typename T>
std::string WriteRoot(const Json& tree, const Form& form) {
  ChunkedStream stream(form.chunk_size);
  {
    RootMessage<T> root;
    root.Reset(&stream.writer);
    Write(tree, form, static_cast<T*>(&root));
    root.Finalize();
  }
  if (const std::string complaints = stream.delegate.Complaints();
      !stream.writer.ok() || !complaints.empty()) {
    throw std::runtime_error("cannot write: " + complaints);
  }
  return stream.delegate.Bytes();
}

template <typename T>
Json TreeOf(T value) {
  if constexpr (std::is_same_v<T, ConstBytes>) {
    return Hexadecimal(value.ToStdStringView());
  } else if constexpr (std::is_same_v<T, ConstChars>) {
    return value.ToStdString();
  } else if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::is_enum_v<T>) {
    return NumberTree(static_cast<int32_t>(value));
  } else {
    return NumberTree(value);
  }
}

// Keeps the status of a decoder that met a malformed message.
inline void Check(const ProtoDecoder& decoder, DecodeStatus* status) {
  if (decoder.status() != DecodeStatus::kOk)
    *status = decoder.status();
}

template <typename Getter>
void ReadScalars(Json* tree,
                 const char* id,
                 DecodeStatus* status,
                 const Getter& getter) {
  bool error = false;
  for (auto it = getter(&error); it; ++it)
    (*tree)[id].push_back(TreeOf(*it));
  if (error)
    *status = DecodeStatus::kTruncated;
}

}  // namespace protozero::test

#endif  // TEST_INTEROP_WALKER_H_
