// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_ROW_COLUMNS_H_
#define SRC_PBZ_ROW_COLUMNS_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/pbz/field_path.h"
#include "src/pbz/message_items.h"
#include "src/pbz/schema.h"
#include "src/table/row_writer.h"

namespace pbz {

// Makes rows from messages: each chosen field has a column, and so may fields
// of messages in the message. A repeated field, and a message that has no
// columns of its own, is JSON.
class RowColumns {
 public:
  // The limit of columns. If there would be more, the user has to choose.
  static constexpr size_t kMaxColumns = 1000;

  // Makes columns for fields of |type|. |chosen| are their paths, with commas
  // between them. If it is empty, all fields have columns, those of messages in
  // it, too; a message in one of its own type is JSON. Returns null, and says
  // why in |error|, if there is no such field.
  static std::unique_ptr<RowColumns> Choose(const MessageType& type,
                                            std::string_view chosen,
                                            std::string* error);

  std::vector<table::Column> Columns() const;

  // Appends the cells of a message. The cell of a missing field is null, or the
  // default if the field has no presence.
  void Write(const std::vector<Item>& message, table::RowWriter* rows);

 private:
  // The wanted fields of one message.
  struct Group;

  // A wanted field: its column, or the group of its own fields.
  struct Slot {
    const FieldType* type = nullptr;
    size_t cell = kNone;
    std::unique_ptr<Group> group;
  };
  static constexpr size_t kNone = SIZE_MAX;

  struct Group {
    Slot* Find(uint32_t id);
    Slot* Add(const FieldType& type, const MessageType& message);

    bool is_there = false;
    std::vector<Slot> slots;  // By id.
  };

  struct Cell {
    std::string name;
    const FieldType* type = nullptr;
    const Group* group = nullptr;  // The message that has the field.
    bool is_json = false;
    // The items of the field in the current row.
    std::vector<uint32_t> parts;
  };

  explicit RowColumns(const MessageType& type) : type_(type) {}

  bool AddAll(const MessageType& type,
              std::vector<PathStep>* path,
              std::vector<const MessageType*>* around);
  // Adds a column. Returns false if it is there already.
  bool Add(const std::vector<PathStep>& path);
  void Collect(const std::vector<Item>& items,
               uint32_t begin,
               uint32_t end,
               Group* group);
  void Clear(Slot* slot);
  void WriteCell(const std::vector<Item>& items,
                 const Cell& cell,
                 table::RowWriter* rows);

  const MessageType& type_;
  Group root_;
  std::vector<Cell> cells_;
  std::string json_;
};

}  // namespace pbz

#endif  // SRC_PBZ_ROW_COLUMNS_H_
