// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/args_to_json.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/program/json_values.h"

namespace pztrace {

namespace {

// The limit of names in a key. What is deeper keeps the rest of its key as a
// name.
constexpr size_t kMaxKeyDepth = 256;

// A value, or what is within a name.
struct ArgNode {
  std::string name;  // "[0]" and so on in an array.
  std::string json;  // Empty if it has children.
  std::vector<size_t> children;
  std::unordered_map<std::string, size_t> places;
};

// The values of one set, as a tree.
struct ArgTree {
  std::deque<ArgNode> nodes{1};
};

// Takes the first name of a key such as "a.b[0]".
std::string_view TakeName(std::string_view* key) {
  const size_t end = std::min(key->find_first_of(".[", 1), key->size());
  const std::string_view name = key->substr(0, end);
  const bool has_dot = end < key->size() && (*key)[end] == '.';
  key->remove_prefix(end + (has_dot ? 1 : 0));
  return name;
}

ArgNode& NodeOf(std::string_view key, ArgTree* tree) {
  size_t at = 0;
  for (size_t depth = 1; !key.empty(); ++depth) {
    const std::string name(depth < kMaxKeyDepth ? TakeName(&key)
                                                : std::exchange(key, {}));
    const auto [place, is_new] =
        tree->nodes[at].places.emplace(name, tree->nodes.size());
    if (is_new) {
      tree->nodes[at].children.push_back(place->second);
      tree->nodes.emplace_back().name = name;
    }
    at = place->second;
  }
  return tree->nodes[at];
}

std::string_view TextArgument(sqlite3_value* value) {
  const auto* const text =
      reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text != nullptr ? std::string_view(text) : std::string_view();
}

std::string JsonOf(sqlite3_value** row) {
  std::string json;
  program::JsonValues values(&json);
  const std::string_view type = TextArgument(row[1]);
  const int64_t integer = sqlite3_value_int64(row[2]);
  if (type == "json")
    return std::string(TextArgument(row[4]));
  if (type == "string")
    values.Add(TextArgument(row[4]));
  else if (type == "real")
    values.Add(sqlite3_value_double(row[3]));
  else if (type == "bool")
    values.Add(integer != 0);
  else if (type == "uint")
    values.Add(static_cast<uint64_t>(integer));
  else if (type == "pointer")
    values.Add(program::Address{static_cast<uint64_t>(integer)});
  else if (type == "int")
    values.Add(integer);
  else
    values.Add(std::monostate());
  return json;
}

void WriteNode(const ArgTree& tree, size_t at, program::JsonValues* values) {
  using Shape = program::ValueSink::Container;
  const ArgNode& node = tree.nodes[at];
  if (node.children.empty())
    return values->AddJson(node.json);
  const bool is_array = tree.nodes[node.children[0]].name[0] == '[';
  values->Begin(is_array ? Shape::kArray : Shape::kDictionary);
  for (const size_t child : node.children) {
    if (!is_array)
      values->Name(tree.nodes[child].name);
    WriteNode(tree, child, values);
  }
  values->End();
}

ArgTree** ArgTreeOf(sqlite3_context* context, int size) {
  return static_cast<ArgTree**>(sqlite3_aggregate_context(context, size));
}

void AddArg(sqlite3_context* context, int, sqlite3_value** row) {
  ArgTree** const tree = ArgTreeOf(context, sizeof(ArgTree*));
  if (tree == nullptr || TextArgument(row[0]).empty())
    return;
  if (*tree == nullptr)
    *tree = new ArgTree;
  NodeOf(TextArgument(row[0]), *tree).json = JsonOf(row);
}

void FinishArgs(sqlite3_context* context) {
  ArgTree** const tree = ArgTreeOf(context, 0);
  if (tree == nullptr || *tree == nullptr)
    return;
  std::string json;
  program::JsonValues values(&json);
  WriteNode(**tree, 0, &values);
  delete *tree;
  sqlite3_result_text64(context, json.data(), json.size(), SQLITE_TRANSIENT,
                        SQLITE_UTF8);
}

}  // namespace

int AddArgsToJson(sqlite3* database) {
  return sqlite3_create_function_v2(database, "__args_to_json", 5,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                                    nullptr, AddArg, FinishArgs, nullptr);
}

}  // namespace pztrace
