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

#include "src/tracing/ipc/folder_lock.h"
#include "src/tracing/local/flight_file.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

constexpr char kSparePrefix[] = "spare-";

struct CloseFlightFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// Opens a folder in |parent|, a descriptor. Returns an invalid one, and sets
// errno, if there is none of that name: a link is none.
ScopedFd OpenFolderIn(int parent, const std::string& name) {
  return ScopedFd(openat(parent, name.c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Calls |visit(std::string name)| with each entry of a folder.
template <typename Visit>
void ForEachEntry(ScopedFd fd, Visit visit) {
  const std::unique_ptr<DIR, CloseFlightFolder> folder(fdopendir(fd.get()));
  if (folder == nullptr)
    return;
  (void)fd.Release();
  while (const dirent* entry = readdir(folder.get()))
    visit(std::string(entry->d_name));
}

bool IsOwnName(const std::string& name) {
  uint32_t uid;
  int32_t pid;
  return name == FlightFolder::kRecorderName ||
         (name.compare(0, strlen(kSparePrefix), kSparePrefix) == 0 &&
          name.find_first_not_of("0123456789", strlen(kSparePrefix)) ==
              std::string::npos) ||
         ParseFlightName(name, &uid, &pid);
}

bool Fail(const std::string& path, std::string* error) {
  *error = path + ": " + strerror(errno);
  return false;
}

// Takes the lock of the recorder whose folder this is. Returns an invalid
// descriptor, and sets errno, if there is none, or if it is running.
ScopedFd LockRecorder(int folder) {
  ScopedFd recorder(openat(folder, FlightFolder::kRecorderName,
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (recorder.is_valid() && flock(recorder.get(), LOCK_EX | LOCK_NB) != 0)
    recorder.Reset();
  return recorder;
}

// Returns whether a folder has anything but what FlightFolder makes.
bool HasOthers(ScopedFd folder) {
  bool has_others = false;
  ForEachEntry(std::move(folder), [&has_others](const std::string& name) {
    has_others |= name != "." && name != ".." && !IsOwnName(name);
  });
  return has_others;
}

// Removes a folder of this user, if there is one. Returns false, and sets
// errno, on failure: EPERM if there is something of that name that is not this
// user's folder, or the folder of a recorder that is running; ENOTEMPTY, and
// nothing is removed, if something else is in it.
bool RemoveFlightFolder(int parent, const std::string& name) {
  ScopedFd folder = OpenFolderIn(parent, name);
  if (!folder.is_valid() && errno == ENOENT)
    return true;
  struct stat status;
  if (!folder.is_valid() || fstat(folder.get(), &status) != 0 ||
      status.st_uid != geteuid()) {
    errno = EPERM;
    return false;
  }
  const int fd = folder.get();
  const ScopedFd recorder = LockRecorder(fd);
  if (!recorder.is_valid() && errno == EWOULDBLOCK) {
    errno = EPERM;
    return false;
  }
  if (HasOthers(OpenFolderIn(parent, name))) {
    errno = ENOTEMPTY;
    return false;
  }
  // The descriptor is open as long as names are visited.
  ForEachEntry(std::move(folder), [fd](const std::string& entry) {
    if (IsOwnName(entry))
      unlinkat(fd, entry.c_str(), 0);
  });
  return unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0;
}

bool IsEmptyFolder(ScopedFd folder) {
  // It has itself and its parent.
  size_t num_entries = 0;
  ForEachEntry(std::move(folder),
               [&num_entries](const std::string&) { ++num_entries; });
  return num_entries <= 2;
}

// Returns whether a new folder may take the place of the one in |parent| that
// is called |name|, and puts the lock of its recorder into |recorder|. |path|
// is its path.
bool MayReplace(int parent,
                const std::string& name,
                const std::string& path,
                ScopedFd* recorder,
                std::string* error) {
  ScopedFd folder = OpenFolderIn(parent, name);
  if (!folder.is_valid() && errno == ENOENT)
    return true;
  if (folder.is_valid() && IsEmptyFolder(OpenFolderIn(parent, name)))
    return true;
  if (folder.is_valid())
    *recorder = LockRecorder(folder.get());
  if (!recorder->is_valid()) {
    *error = path + (errno == EWOULDBLOCK
                         ? ": another recorder has it"
                         : ": there is something else of that name");
    return false;
  }
  // Begin() removes it, and must not fail halfway.
  const std::string last = LastFlightName(name, 0);
  struct stat status;
  if (fstatat(parent, last.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      status.st_uid == geteuid() && S_ISDIR(status.st_mode) &&
      HasOthers(OpenFolderIn(parent, last))) {
    errno = ENOTEMPTY;
    return Fail(LastFlightName(path, 0), error);
  }
  return true;
}

// Makes way for a new folder. |path| is the one in |parent| of that |name|.
bool KeepLastFolder(int parent,
                    const std::string& name,
                    const std::string& path,
                    std::string* error) {
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT)
    return true;
  ScopedFd recorder;
  if (!MayReplace(parent, name, path, &recorder, error))
    return false;
  for (int i = 0; i < kMaxLastFlightNames; ++i) {
    const std::string last = LastFlightName(name, i);
    if (RemoveFlightFolder(parent, last)) {
      if (renameat(parent, name.c_str(), parent, last.c_str()) == 0)
        return true;
    } else if (errno != EPERM && errno != ENOTEMPTY) {
      return Fail(LastFlightName(path, i), error);
    }
  }
  return Fail(path, error);
}

}  // namespace

// A program's file, as long as the program is connected.
class FlightFolder::FileInUse final : public SharedMemory {
 public:
  FileInUse(File file, size_t size, std::function<void()> on_displaced)
      : file_(std::move(file)),
        size_(size),
        on_displaced_(std::move(on_displaced)) {}
  ~FileInUse() override {
    FlightFolder* const folder = folder_;
    if (folder == nullptr)
      return;
    SetEndClocks(HeaderOf(*folder->recorder_));
    End();
    folder->left_.push_back(std::move(file_));
  }

  // Says that the file is there.
  void Begin(FlightFolder* folder) {
    folder_ = folder;
    folder_->in_use_.push_back(this);
    folder_->shares_.Add(file_.owner);
  }
  // Says that the program loses the file.
  void Displace() {
    End();
    on_displaced_();
  }
  const File& file() const { return file_; }

  uint8_t* start() const override { return nullptr; }
  size_t size() const override { return size_; }

 private:
  void End() {
    std::vector<FileInUse*>& all = folder_->in_use_;
    all.erase(std::find(all.begin(), all.end(), this));
    folder_ = nullptr;
  }

  // Null before Begin(), and after the end.
  FlightFolder* folder_ = nullptr;
  File file_;
  const size_t size_;
  const std::function<void()> on_displaced_;
};

FlightFolder::~FlightFolder() {
  if (recorder_ != nullptr)
    SetEndClocks(HeaderOf(*recorder_));
  for (const Spare& spare : spares_)
    unlinkat(folder_.get(), spare.name.c_str(), 0);
  if (!new_name_.empty()) {
    recorder_.reset();
    RemoveFlightFolder(parent_.get(), new_name_);
  }
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
  in_use_.reserve(num_files);
  left_.reserve(num_files);
  path_ = path;
  name_ = path.substr(path.rfind('/') + 1);
  parent_.Reset(open(FolderOf(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent_.is_valid())
    return Fail(path, error);
  // An incomplete folder is never visible, and the one that is there stays if
  // there is no room for another one.
  ScopedFd recorder;
  return (MakeNewFolder() || Fail(NewFlightName(path, 0), error)) &&
         MakeFiles(error) &&
         MayReplace(parent_.get(), name_, path, &recorder, error);
}

bool FlightFolder::Begin(std::string* error) {
  if (!KeepLastFolder(parent_.get(), name_, path_, error))
    return false;
  if (renameat(parent_.get(), new_name_.c_str(), parent_.get(),
               name_.c_str()) != 0) {
    return Fail(path_, error);
  }
  new_name_.clear();
  return true;
}

// Makes and opens an empty folder. Returns false, and sets errno, on failure.
bool FlightFolder::MakeNewFolder() {
  for (int i = 0; i < kMaxNewFlightNames; ++i) {
    const std::string name = NewFlightName(name_, i);
    // A recorder that was killed here may have had the same number.
    RemoveFlightFolder(parent_.get(), name);
    if (mkdirat(parent_.get(), name.c_str(), 0700) == 0) {
      new_name_ = name;
      folder_ = OpenFolderIn(parent_.get(), name);
      return folder_.is_valid();
    }
    if (errno != EEXIST)
      return false;
  }
  return false;
}

bool FlightFolder::MakeFiles(std::string* error) {
  recorder_ = MakeFlightHeader(folder_.get(), kRecorderName, error);
  if (recorder_ == nullptr)
    return false;
  flock(recorder_->fd(), LOCK_EX | LOCK_NB);
  for (size_t i = 0; i < num_files_; ++i) {
    if (!AddSpare(error))
      return false;
  }
  const FlightHeader& program = *HeaderOf(*spares_[0].file);
  FlightHeader* const header = HeaderOf(*recorder_);
  header->page_size = program.page_size;
  header->program_pages = program.num_pages;
  return true;
}

bool FlightFolder::AddSpare(std::string* error) {
  Spare spare;
  spare.name = kSparePrefix + std::to_string(num_spares_made_);
  spare.file = MakeFlightFileIn(folder_.get(), spare.name, file_size_, error);
  if (spare.file == nullptr) {
    *error = path_ + "/" + *error;
    return false;
  }
  ++num_spares_made_;
  spares_.push_back(std::move(spare));
  return true;
}

bool FlightFolder::MakeRoomFor(const PeerIdentity& newcomer,
                               std::string* error) {
  if (RemoveLeftFile(newcomer) || RemoveFileInUse(newcomer))
    return true;
  *error = left_.empty() ? "each file of the flight recorder is in use"
                         : "programs of other users have the files of the "
                           "flight recorder";
  return false;
}

bool FlightFolder::RemoveLeftFile(const PeerIdentity& newcomer) {
  auto victim = left_.end();
  size_t most = 0;
  for (auto it = left_.begin(); it != left_.end(); ++it) {
    const bool is_own_user = it->owner.uid == newcomer.uid;
    if (is_own_user && it->owner.pid == newcomer.pid) {
      victim = it;
      break;
    }
    const size_t share = shares_.OfUser(it->owner.uid);
    if (share > most && (is_own_user || share > shares_.OfUser(newcomer.uid))) {
      victim = it;
      most = share;
    }
  }
  if (victim == left_.end())
    return false;
  Remove(*victim);
  left_.erase(victim);
  return true;
}

bool FlightFolder::RemoveFileInUse(const PeerIdentity& newcomer) {
  const auto process = shares_.WhoMakesRoom(newcomer, /*is_full=*/true);
  if (!process.has_value())
    return false;
  const auto last = std::find_if(
      in_use_.rbegin(), in_use_.rend(), [&](const FileInUse* file) {
        return PeerShares::ProcessOf(file->file().owner) == *process;
      });
  if (last == in_use_.rend())
    return false;
  FileInUse* const victim = *last;
  Remove(victim->file());
  victim->Displace();
  return true;
}

// The file's memory is not used again: the program may still write there.
void FlightFolder::Remove(const File& file) {
  unlinkat(folder_.get(), file.name.c_str(), 0);
  shares_.Remove(file.owner);
}

std::unique_ptr<SharedMemory> FlightFolder::Take(
    const PeerIdentity& producer,
    std::function<void()> on_displaced,
    ScopedFd* fd,
    std::string* error) {
  if (spares_.empty()) {
    if (in_use_.size() + left_.size() == num_files_ &&
        !MakeRoomFor(producer, error)) {
      return nullptr;
    }
    if (!AddSpare(error))
      return nullptr;
  }
  Spare& spare = spares_.back();
  char name[64];
  snprintf(name, sizeof(name), "%08" PRIu32 "-%" PRIu32 "-%" PRId32 ".flight",
           num_taken_ + 1, static_cast<uint32_t>(producer.uid),
           static_cast<int32_t>(producer.pid));
  auto in_use = std::make_unique<FileInUse>(
      File{name, producer}, spare.file->size(), std::move(on_displaced));
  shares_.Reserve(producer);
  ScopeExit undo([&] { shares_.ForgetIfNone(producer); });
  FlightHeader* const header = HeaderOf(*spare.file);
  header->uid = producer.uid;
  header->pid = producer.pid;
  if (renameat(folder_.get(), spare.name.c_str(), folder_.get(), name) != 0) {
    Fail(path_, error);
    return nullptr;
  }
  undo.Cancel();
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
  ScopedFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ForEachEntry(std::move(fd), [&names](const std::string& name) {
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
