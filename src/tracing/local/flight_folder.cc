// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/flight_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "src/tracing/local/flight_file.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

constexpr char kSparePrefix[] = "spare-";

struct CloseFlightFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// Calls |visit(std::string name)| with each entry. Returns false, and sets
// errno, if there is no such folder.
template <typename Visit>
bool ForEachEntry(const std::string& path, Visit visit) {
  const std::unique_ptr<DIR, CloseFlightFolder> folder(opendir(path.c_str()));
  if (folder == nullptr)
    return false;
  while (const dirent* entry = readdir(folder.get()))
    visit(std::string(entry->d_name));
  return true;
}

bool IsOwnName(const std::string& name) {
  uint32_t uid;
  int32_t pid;
  return name == FlightFolder::kRecorderName ||
         name.compare(0, strlen(kSparePrefix), kSparePrefix) == 0 ||
         ParseFlightName(name, &uid, &pid);
}

bool Fail(const std::string& path, std::string* error) {
  *error = path + ": " + strerror(errno);
  return false;
}

// Removes a folder if there is one. Leaves it if somebody else has put
// something there.
bool RemoveFlightFolder(const std::string& path, std::string* error) {
  if (!ForEachEntry(path, [&path](const std::string& name) {
        if (IsOwnName(name))
          unlink((path + "/" + name).c_str());
      })) {
    return errno == ENOENT || Fail(path, error);
  }
  return rmdir(path.c_str()) == 0 || Fail(path, error);
}

// Makes way for a new folder.
bool KeepLastFolder(const std::string& path, std::string* error) {
  if (rmdir(path.c_str()) == 0 || errno == ENOENT)
    return true;
  const ScopedFd recorder(
      open((path + "/" + FlightFolder::kRecorderName).c_str(),
           O_RDONLY | O_CLOEXEC));
  if (!recorder.is_valid()) {
    *error = path + ": there is something else of that name";
    return false;
  }
  if (flock(recorder.get(), LOCK_EX | LOCK_NB) != 0) {
    *error = path + ": another recorder has it";
    return false;
  }
  const std::string last = path + ".last";
  return RemoveFlightFolder(last, error) &&
         (rename(path.c_str(), last.c_str()) == 0 || Fail(path, error));
}

}  // namespace

// A program's file, as long as the program is connected.
class FlightFolder::FileInUse final : public SharedMemory {
 public:
  FileInUse(File file, size_t size) : file_(std::move(file)), size_(size) {}
  ~FileInUse() override {
    if (folder_ == nullptr)
      return;
    --folder_->num_in_use_;
    folder_->left_.push_back(std::move(file_));
  }

  // Says that the file is there.
  void Begin(FlightFolder* folder) {
    folder_ = folder;
    ++folder_->num_in_use_;
  }

  uint8_t* start() const override { return nullptr; }
  size_t size() const override { return size_; }

 private:
  // Null before Begin().
  FlightFolder* folder_ = nullptr;
  File file_;
  const size_t size_;
};

FlightFolder::~FlightFolder() {
  for (const Spare& spare : spares_)
    unlink((path_ + "/" + spare.name).c_str());
}

bool FlightFolder::Open(const std::string& wanted_path,
                        size_t size,
                        size_t num_files,
                        std::string* error) {
  std::string path = wanted_path;
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  num_files_ = num_files;
  file_size_ = size / num_files;
  left_.reserve(num_files);
  // Nobody sees a folder that is not complete, and the one that is there stays
  // if there is no room for another one.
  const std::string new_path = path + ".new." + std::to_string(getpid());
  // A recorder that was killed here may have had the same number.
  std::string ignored;
  RemoveFlightFolder(new_path, &ignored);
  if (mkdir(new_path.c_str(), 0777) != 0)
    return Fail(new_path, error);
  if (MakeFiles(new_path, error) && KeepLastFolder(path, error)) {
    if (rename(new_path.c_str(), path.c_str()) == 0) {
      path_ = path;
      return true;
    }
    Fail(path, error);
  }
  spares_.clear();
  RemoveFlightFolder(new_path, &ignored);
  return false;
}

bool FlightFolder::MakeFiles(const std::string& folder, std::string* error) {
  recorder_ = MakeFlightHeader(folder + "/" + kRecorderName, error);
  if (recorder_ == nullptr)
    return false;
  flock(recorder_->fd(), LOCK_EX | LOCK_NB);
  for (size_t i = 0; i < num_files_; ++i) {
    if (!AddSpare(folder, error))
      return false;
  }
  return true;
}

bool FlightFolder::AddSpare(const std::string& folder, std::string* error) {
  Spare spare;
  spare.name = kSparePrefix + std::to_string(num_spares_made_);
  spare.file = MakeFlightFile(folder + "/" + spare.name, file_size_, error);
  if (spare.file == nullptr)
    return false;
  ++num_spares_made_;
  spares_.push_back(std::move(spare));
  return true;
}

// Removes the file that was left first, or a file of the newcomer's own. Its
// memory is not used again: who has left it may still write there.
bool FlightFolder::RemoveLeftFile(const PeerIdentity& newcomer,
                                  std::string* error) {
  if (left_.empty()) {
    *error = "each file of the flight recorder is in use";
    return false;
  }
  const auto own =
      std::find_if(left_.begin(), left_.end(), [&](const File& file) {
        return file.owner.uid == newcomer.uid && file.owner.pid == newcomer.pid;
      });
  const auto it = own != left_.end() ? own : left_.begin();
  unlink((path_ + "/" + it->name).c_str());
  left_.erase(it);
  return true;
}

std::unique_ptr<SharedMemory> FlightFolder::Take(const PeerIdentity& producer,
                                                 ScopedFd* fd,
                                                 std::string* error) {
  if (spares_.empty()) {
    if (num_in_use_ + left_.size() == num_files_ &&
        !RemoveLeftFile(producer, error)) {
      return nullptr;
    }
    if (!AddSpare(path_, error))
      return nullptr;
  }
  Spare& spare = spares_.back();
  char name[64];
  snprintf(name, sizeof(name), "%08" PRIu32 "-%" PRIu32 "-%" PRId32 ".flight",
           num_taken_ + 1, static_cast<uint32_t>(producer.uid),
           static_cast<int32_t>(producer.pid));
  auto in_use =
      std::make_unique<FileInUse>(File{name, producer}, spare.file->size());
  FlightHeader* const header = HeaderOf(*spare.file);
  header->uid = producer.uid;
  header->pid = producer.pid;
  if (rename((path_ + "/" + spare.name).c_str(),
             (path_ + "/" + name).c_str()) != 0) {
    Fail(path_, error);
    return nullptr;
  }
  in_use->Begin(this);
  ++num_taken_;
  *fd = spare.file->TakeFd();
  spares_.pop_back();
  return in_use;
}

bool ParseFlightName(const std::string& name, uint32_t* uid, int32_t* pid) {
  uint32_t number;
  int size = 0;
  return sscanf(name.c_str(), "%" SCNu32 "-%" SCNu32 "-%" SCNd32 ".flight%n",
                &number, uid, pid, &size) == 3 &&
         size != 0 && static_cast<size_t>(size) == name.size();
}

std::vector<std::string> FindFlightFiles(const std::string& folder) {
  std::vector<std::string> names;
  ForEachEntry(folder, [&names](const std::string& name) {
    uint32_t uid;
    int32_t pid;
    if (ParseFlightName(name, &uid, &pid))
      names.push_back(name);
  });
  std::sort(names.begin(), names.end());
  return names;
}

PROTOZERO_ABI_END
}  // namespace protozero
