// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/trace_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <utility>

#include "protozero/proto_decoder.h"
#include "src/tracing/trace_reader/trace_reader_impl.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// Calls |read_packets| with all of a file, whole packets at a time. Returns an
// error message, which is empty if there is no error.
template <typename Function>
std::string ReadPackets(int fd, Function read_packets) {
  // After each read, the bytes after the whole packets move to the front.
  std::vector<uint8_t> buffer(size_t{1} << 18);
  size_t size = 0;
  for (;;) {
    const ssize_t more = read(fd, buffer.data() + size, buffer.size() - size);
    if (more == -1 && errno == EINTR)
      continue;
    if (more == -1)
      return strerror(errno);
    if (more == 0)
      break;
    size += static_cast<size_t>(more);
    ProtoDecoder decoder(buffer.data(), size);
    size_t whole = 0;
    while (decoder.ReadField().valid())
      whole = decoder.read_offset();
    read_packets(ConstBytes(buffer.data(), whole));
    memmove(buffer.data(), buffer.data() + whole, size - whole);
    size -= whole;
    if (size != 0 && decoder.status() != DecodeStatus::kOk &&
        decoder.status() != DecodeStatus::kTruncated) {
      break;
    }
    if (size == buffer.size())
      buffer.resize(2 * size);
  }
  return size == 0 ? "" : "the trace is damaged";
}

}  // namespace

std::optional<TrackInfo> TraceTracks::Find(uint64_t track) const {
  return table_->Find(track);
}

std::vector<uint64_t> TraceTracks::All() const {
  return table_->All();
}

std::vector<uint64_t> TraceTracks::PathTo(uint64_t track) const {
  return table_->PathTo(track);
}

uint64_t TraceTracks::version() const {
  return table_->version();
}

TraceReader::TraceReader(Callbacks callbacks)
    : impl_(std::make_unique<internal::TraceReaderImpl>(std::move(callbacks))) {
}

TraceReader::~TraceReader() = default;

bool TraceReader::Read(ConstBytes packets) {
  return impl_->Read(packets);
}

void TraceReader::ReadAhead(ConstBytes packets) {
  impl_->ReadAhead(packets);
}

void TraceReader::set_read_ahead(std::function<void()> read_ahead) {
  impl_->set_read_ahead(std::move(read_ahead));
}

void TraceReader::ReleaseEvents() {
  impl_->ReleaseEvents();
}

void TraceReader::ForEachOpenSlice(
    uint64_t now_ns,
    const std::function<void(const Slice&)>& visit) const {
  impl_->ForEachOpenSlice(now_ns, visit);
}

void TraceReader::Finish() {
  impl_->Finish();
}

bool TraceReader::ReadFile(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd == -1) {
    impl_->error = strerror(errno);
    return false;
  }
  const bool ok = ReadDescriptor(fd);
  close(fd);
  return ok;
}

bool TraceReader::ReadDescriptor(int fd) {
  const off_t begin = lseek(fd, 0, SEEK_CUR);
  if (begin != -1) {
    ReadPackets(fd, [this](ConstBytes packets) { ReadAhead(packets); });
    if (lseek(fd, begin, SEEK_SET) != begin) {
      impl_->error = strerror(errno);
      return false;
    }
  }
  impl_->error = ReadPackets(fd, [this](ConstBytes packets) { Read(packets); });
  Finish();
  return impl_->error.empty();
}

const std::string& TraceReader::error() const {
  return impl_->error;
}

const TraceTracks& TraceReader::tracks() const {
  return impl_->public_tracks_;
}

SlicePath TraceReader::path(uint32_t path_id) const {
  const internal::PathTable& paths = impl_->paths_;
  const internal::TextId text = paths.text(path_id);
  return {text != internal::PathTable::kFolded ? &impl_->texts_.text(text)
                                               : nullptr,
          paths.outer(path_id)};
}

std::optional<int64_t> TraceReader::RealtimeOf(uint64_t time_ns) const {
  return impl_->clocks_.RealtimeOf(time_ns);
}

std::optional<int64_t> TraceReader::realtime_offset_ns() const {
  return impl_->clocks_.realtime_offset_ns();
}

uint64_t TraceReader::unfinished() const {
  return impl_->nesting_.unfinished();
}

uint64_t TraceReader::lost_ends() const {
  return impl_->nesting_.lost_ends();
}

uint64_t TraceReader::unbegun() const {
  return impl_->nesting_.unbegun();
}

uint64_t TraceReader::skipped() const {
  return impl_->skipped_;
}

uint64_t TraceReader::skipped_by_loss() const {
  return impl_->skipped_by_loss_;
}

uint64_t TraceReader::late() const {
  return impl_->order_.late();
}

uint64_t TraceReader::unrelated() const {
  return impl_->events_.unrelated();
}

const std::map<std::string, uint64_t>& TraceReader::unread() const {
  return impl_->events_.unread();
}

uint64_t TraceReader::first_ns() const {
  return impl_->events_.first_ns();
}

uint64_t TraceReader::last_ns() const {
  return impl_->events_.last_ns();
}

uint64_t TraceReader::end_ns() const {
  return impl_->end_ns();
}

const std::vector<LostStretch>& TraceReader::lost_stretches() const {
  return impl_->lost_stretches_;
}

const std::map<uint32_t, Gaps>& TraceReader::gaps() const {
  return impl_->gaps_;
}

const std::map<uint32_t, uint64_t>& TraceReader::packets_lost() const {
  return impl_->packets_lost_;
}

uint64_t TraceReader::unknown_losses() const {
  return impl_->unknown_losses_;
}

bool TraceReader::has_stats() const {
  return impl_->has_stats_;
}

PROTOZERO_ABI_END
}  // namespace protozero
