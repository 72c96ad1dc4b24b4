// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_LOCAL_FLIGHT_FOLDER_H_
#define SRC_TRACING_LOCAL_FLIGHT_FOLDER_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protozero/tracing/shared_memory.h"
#include "src/tracing/ipc/flight_source.h"
#include "src/tracing/ipc/peer_shares.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/ipc/unix_socket.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A folder with the flight recorders of all programs that connect to a service:
//
//   recorder               the service's clocks: a FlightHeader without pages
//   NUMBER-UID-PID.flight  the file of a program, as of a FlightRecorder; the
//                          kernel has told the ids, whatever the file says
//   spare-NUMBER           room for another program
//
// Users share the files as ServiceHost has them share places. A program that
// has connected again gives way to itself. Otherwise the file that was left
// first makes room for the next program, of the user who has most files: of one
// who has more than the newcomer's user, or of that user. If programs that run
// have all of these, users and processes with many make room for those with
// few.
class FlightFolder final : public FlightSource {
 public:
  // The name of the service's own file.
  static constexpr char kRecorderName[] = "recorder";
  // The smallest size of a program's file.
  static constexpr size_t kMinFileSize = 64 * 1024;

  FlightFolder() = default;
  // Removes the spare files.
  ~FlightFolder() override;

  FlightFolder(const FlightFolder&) = delete;
  FlightFolder& operator=(const FlightFolder&) = delete;

  // Makes a folder for |path|, with room for |num_files| programs in |size|
  // bytes. All of the room is taken now, so that a full disk is an error here.
  // Only this user can enter it. Changes nothing that is there: Begin() has to
  // follow. Returns false on failure, with the reason in |error|. May throw
  // std::bad_alloc. Call it once. REQUIRES: |size| / |num_files| is at least
  // kMinFileSize.
  bool Open(const std::string& path,
            size_t size,
            size_t num_files,
            std::string* error);
  // Gives the folder its name. A folder that is there is kept as |path|.last;
  // one that was kept before is replaced. In a folder of several users, another
  // one may have taken that name: then it is kept as |path|.last.1, or so on up
  // to 9. Returns false on failure, with the reason in |error|. REQUIRES:
  // nothing has been taken.
  bool Begin(std::string* error);

  // FlightSource:
  std::unique_ptr<SharedMemory> Take(const PeerIdentity& producer,
                                     std::function<void()> on_displaced,
                                     ScopedFd* fd,
                                     std::string* error) override;

  const std::string& path() const { return path_; }
  // Returns the size of all files.
  size_t size() const { return num_files_ * file_size_; }
  // Returns the number of programs that got a file.
  uint32_t num_taken() const { return num_taken_; }

 private:
  class FileInUse;
  // The file of a program.
  struct File {
    std::string name;
    PeerIdentity owner;
  };
  struct Spare {
    std::string name;
    std::unique_ptr<SharedMemoryFile> file;
  };

  bool MakeNewFolder();
  // Return false, with the reason in |error|, on failure.
  bool MakeFiles(std::string* error);
  bool AddSpare(std::string* error);
  bool MakeRoomFor(const PeerIdentity& newcomer, std::string* error);
  bool RemoveLeftFile(const PeerIdentity& newcomer);
  bool RemoveFileInUse(const PeerIdentity& newcomer);
  // Removes the file of a program, which has its share back.
  void Remove(const File& file);

  std::string path_;
  // The open parent, and the last part of the path.
  ScopedFd parent_;
  std::string name_;
  // The name of the folder before Begin(); otherwise empty.
  std::string new_name_;
  // The open folder: whatever becomes of its name, files are made in it.
  ScopedFd folder_;
  size_t num_files_ = 0;
  size_t file_size_ = 0;
  // The service's own file, which is locked.
  std::unique_ptr<SharedMemoryFile> recorder_;
  uint32_t num_spares_made_ = 0;
  std::vector<Spare> spares_;
  uint32_t num_taken_ = 0;
  // The files of programs that are connected, and those that programs have
  // left, each in this order. They have room for all.
  std::vector<FileInUse*> in_use_;
  std::vector<File> left_;
  // The shares in both.
  PeerShares shares_;
};

// Reads the ids in the name of a program's file. Returns false if it is none.
bool ParseFlightName(const std::string& name, uint32_t* uid, int32_t* pid);

// Returns the names of the programs' files in a folder, in the order in which
// the programs came. Returns none if it cannot be read. May throw
// std::bad_alloc.
std::vector<std::string> FindFlightFiles(const std::string& folder);

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_LOCAL_FLIGHT_FOLDER_H_
