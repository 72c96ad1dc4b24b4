// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_TRACE_OUTPUT_H_
#define SRC_PZTRACE_TRACE_FILE_TRACE_OUTPUT_H_

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "protozero/const_bytes.h"
#include "src/pztrace/trace_file/codec.h"
#include "src/pztrace/trace_file/string_filter.h"
#include "src/pztrace/trace_file/trace_file.h"

namespace pztrace {

// Returns a time such as 20260131T235959.123Z: the order of such names is that
// of their times.
std::string TimeForName(const timespec& now);

// The size or time at which the next file of a trace begins.
struct Rotation {
  // The limits of a file's size and of the time that it is written; 0 for none.
  size_t bytes = 0;
  uint32_t ms = 0;
  // The number of finished files that are kept; 0 for all.
  uint32_t keep = 0;

  bool is_on() const { return bytes != 0 || ms != 0; }
};

// The files that the packets of a recording go to: one, or one after the other.
//
// Each file is a trace that can be read without the others. All of them, one
// after the other, are a trace, too. So it is not possible to end a file at one
// moment: when the service has begun another trace, a thread still refers to
// what it wrote to the old one until its next packet, which repeats all of
// that. From BeginNext() to FinishOld() there are two files, and each sequence
// of packets changes to the new one on its own:
//
//   old file    1 1 2 1 2 |   2   |            the service's, and
//   new file              | S   1 | 1 2 1 S    sequences 1 and 2
//                    BeginNext   FinishOld
//
// The description of an extension is for all sequences, so it goes to each file
// that is open, and to those that follow.
//
// The names of files have the time when they were begun in front of the
// extension. ".part" follows it while a file is being written.
class TraceOutput {
 public:
  // REQUIRES: the codec is built, if there is one.
  explicit TraceOutput(const Compression& compression = {})
      : compression_(compression) {}

  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;

  // Writes packets as |filter| leaves them. It has to outlive this. Call it
  // before Open().
  void SetFilter(const StringFilter* filter) { filter_ = filter; }

  // Calls |observer| with the packets that are written, as the filter leaves
  // them.
  void SetObserver(std::function<void(protozero::ConstBytes)> observer) {
    observer_ = std::move(observer);
  }

  // These functions print what is wrong when they return false.

  // Opens |path|. "-" is the standard output, if |rotation| is off. Changes
  // nothing that is there.
  bool Open(const std::string& path, const Rotation& rotation);
  // Empties the file, so that packets can be written to it.
  bool Begin() { return files_.back()->file.Begin(); }
  // Writes |data|, which is whole packets. They are counted as lost if it
  // returns false.
  bool Write(const uint8_t* data, size_t size);
  // Writes the packets that wait to be compressed. Returns false in the same
  // cases as Write().
  bool Flush();
  // Writes more of what TraceFile keeps, and waits a moment if there is no
  // reader. Returns false in the same cases as Write().
  bool WriteKept();
  // Counts what is kept, and what may follow, as lost.
  void GiveUp();
  // REQUIRES: !has_two(), and Open() has had a rotation.
  bool BeginNext();
  bool FinishOld();
  bool Close();

  // Returns whether packets wait for a reader.
  bool has_kept() const;
  bool has_two() const { return files_.size() == 2; }
  // Returns true if, as far as is known, no sequence refers to the old file any
  // more.
  bool have_all_gone_on() const { return pinned_.empty(); }
  // Returns the size of the newest file.
  uint64_t bytes_of_file() const { return files_.back()->file.bytes(); }

  // Returns whether text on the standard output would end up in the trace.
  bool is_standard_output() const {
    return files_.back()->file.is_standard_output();
  }
  // Returns the file's name, or a pattern if there may be many files.
  const std::string& name() const { return name_; }
  // Returns the name of the last file that was finished by its final name.
  const std::string& last_finished() const { return last_finished_; }
  // Returns true if a file takes no more.
  bool is_broken() const { return is_broken_; }

  // Return the sums of all files. Any thread may call them.
  uint64_t bytes() const { return bytes_; }
  uint64_t packets() const { return packets_; }
  uint64_t packets_lost() const { return packets_lost_; }
  uint64_t num_files() const { return num_files_; }

 private:
  struct File {
    explicit File(const Compression& compression) : file(compression) {}

    TraceFile file;
    // The name when it is finished; empty if it has that name already.
    std::string final_name;
    // The packets to write when something else is in the file.
    std::string extension_packets;
  };

  struct PacketHeader;

  // The limit of repeated extensions. Programs may send any number of them, and
  // later ones are not repeated.
  static constexpr size_t kMaxExtensionBytes = 16 << 20;

  bool Add();
  // Calls |function|, which writes to |file|, and counts what has changed.
  template <typename Function>
  void Count(TraceFile* file, const Function& function);
  // Writes to one file.
  void WriteTo(File* file, const uint8_t* data, size_t size);
  void WriteTo(File* file, const std::string& packets);
  // Returns the file that this packet goes to.
  File* FileOf(const PacketHeader& packet);
  // Adds |extensions|, which is in a packet of |owner|, to all other files.
  void Describe(protozero::ConstBytes extensions, const File* owner);
  // Finishes the oldest file.
  bool Finish();

  const Compression compression_;
  const StringFilter* filter_ = nullptr;
  std::string filtered_;
  std::function<void(protozero::ConstBytes)> observer_;
  Rotation rotation_;
  std::string name_;
  std::string last_finished_;
  // The part of all files' names before the time, and the part after it.
  std::string stem_;
  std::string extension_;
  // One file, or the old and the new one.
  std::deque<std::unique_ptr<File>> files_;
  // The names of the finished files, the oldest first, if some are to be
  // deleted.
  std::deque<std::string> finished_;
  // The sequences with incremental state that have written since the newest
  // file began, and the sequences that still belong to the old one.
  std::set<uint32_t> active_;
  std::set<uint32_t> pinned_;
  // The descriptions of extensions so far, and packets that repeat them in the
  // same order: one may need another.
  std::set<std::string> extensions_;
  std::string extension_packets_;
  bool is_broken_ = false;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> packets_{0};
  std::atomic<uint64_t> packets_lost_{0};
  std::atomic<uint64_t> num_files_{0};
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_TRACE_OUTPUT_H_
