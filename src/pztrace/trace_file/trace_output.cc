// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/trace_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/tracing/service/service_packets.h"

namespace pztrace {

namespace service = protozero::service;

namespace {

using protozero::trace::TracePacket;

constexpr char kPart[] = ".part";

bool Exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

}  // namespace

std::string TimeForName(const timespec& now) {
  tm parts;
  gmtime_r(&now.tv_sec, &parts);
  char seconds[32];
  strftime(seconds, sizeof(seconds), "%Y%m%dT%H%M%S", &parts);
  char text[48];
  snprintf(text, sizeof(text), "%s.%03dZ", seconds,
           static_cast<int>(now.tv_nsec / 1000000));
  return text;
}

// The parts of a packet that decide which file it goes to.
struct TraceOutput::PacketHeader {
  explicit PacketHeader(protozero::ConstBytes packet) {
    protozero::ProtoDecoder decoder(packet);
    while (const protozero::Field field = decoder.ReadField()) {
      switch (field.id()) {
        case TracePacket::kTrustedPacketSequenceIdFieldNumber:
          sequence = field.as_uint32();
          break;
        case TracePacket::kSequenceFlagsFieldNumber:
          flags = field.as_uint32();
          break;
        case TracePacket::kExtensionDescriptorFieldNumber:
          extensions = field.as_bytes();
          break;
        default:
          break;
      }
    }
  }

  uint32_t sequence = 0;
  uint32_t flags = 0;
  protozero::ConstBytes extensions{};
};

bool TraceOutput::Open(const std::string& path, const Rotation& rotation) {
  rotation_ = rotation;
  name_ = path == "-" ? "<stdout>" : path;
  if (rotation_.is_on()) {
    const size_t slash = path.rfind('/');
    const size_t dot = path.rfind('.');
    // The dot of a hidden file does not begin an extension.
    const bool has_extension = dot != std::string::npos && dot != 0 &&
                               (slash == std::string::npos || dot > slash + 1);
    stem_ = path.substr(0, has_extension ? dot : path.size());
    extension_ = path.substr(stem_.size());
    name_ = stem_ + "-*" + extension_;
    return Add();
  }
  files_.push_back(std::make_unique<File>(compression_));
  num_files_ = 1;
  return files_.back()->file.Open(path);
}

bool TraceOutput::Add() {
  auto added = std::make_unique<File>(compression_);
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  std::string path;
  // The name may be taken: a clock may go back, and others may record to the
  // same folder.
  do {
    added->final_name = stem_ + "-" + TimeForName(now) + extension_;
    path = added->final_name + kPart;
    now.tv_nsec += 1000000;
    if (now.tv_nsec >= 1000000000) {
      ++now.tv_sec;
      now.tv_nsec -= 1000000000;
    }
  } while (Exists(added->final_name) || Exists(path));
  if (!added->file.Open(path)) {
    is_broken_ = true;
    return false;
  }
  added->extension_packets = extension_packets_;
  files_.push_back(std::move(added));
  ++num_files_;
  return true;
}

bool TraceOutput::BeginNext() {
  if (!Add() || !Begin())
    return false;
  pinned_ = std::exchange(active_, {});
  return true;
}

bool TraceOutput::FinishOld() {
  pinned_.clear();
  // Readers see how long slices have gone on that have no end in the file. The
  // session's own snapshots relate the trace's clock to others.
  service::ClockReadings now = service::ReadClocks();
  now.realtime = 0;
  if (now.boottime != 0)
    now.monotonic = 0;
  std::vector<uint8_t> end;
  if (service::AppendClockSnapshot(now, &end))
    WriteTo(files_.front().get(), end.data(), end.size());
  return Finish();
}

bool TraceOutput::Close() {
  bool ok = !is_broken_;
  while (!files_.empty())
    ok = Finish() && ok;
  return ok;
}

bool TraceOutput::Finish() {
  const std::unique_ptr<File> file = std::move(files_.front());
  files_.pop_front();
  bool ok = false;
  // The file may have been removed, which changes the counts.
  Count(&file->file, [&] { ok = file->file.Close(); });
  is_broken_ = is_broken_ || !ok;
  const std::string& name = file->final_name;
  if (name.empty())
    return ok;
  // A removed file is not renamed; Close() has reported it.
  const std::string path = name + kPart;
  if (Exists(path) && rename(path.c_str(), name.c_str()) != 0) {
    program::PrintError(kProgram, "%s: cannot be renamed to %s: %s",
                        path.c_str(), name.c_str(), strerror(errno));
    is_broken_ = true;
    return false;
  }
  last_finished_ = name;
  if (rotation_.keep != 0) {
    finished_.push_back(name);
    if (finished_.size() > rotation_.keep) {
      // This may fail: the file may have been moved before.
      unlink(finished_.front().c_str());
      finished_.pop_front();
    }
  }
  return ok;
}

bool TraceOutput::Write(const uint8_t* data, size_t size) {
  if (filter_ != nullptr) {
    filtered_.clear();
    filter_->Filter({data, size}, &filtered_);
    data = reinterpret_cast<const uint8_t*>(filtered_.data());
    size = filtered_.size();
  }
  if (observer_)
    observer_({data, size});
  if (!rotation_.is_on()) {
    WriteTo(files_.back().get(), data, size);
    return !is_broken_;
  }
  // Packets that follow each other and go to the same file are one write.
  File* file = files_.back().get();
  size_t begin = 0;
  size_t end = 0;
  protozero::ProtoDecoder decoder(data, size);
  while (const protozero::Field field = decoder.ReadField()) {
    const PacketHeader packet(field.as_bytes());
    File* const next = FileOf(packet);
    if (packet.extensions.size != 0)
      Describe(packet.extensions, next);
    if (next != file) {
      WriteTo(file, data + begin, end - begin);
      begin = end;
      file = next;
    }
    end = decoder.read_offset();
  }
  WriteTo(file, data + begin, size - begin);
  return !is_broken_;
}

bool TraceOutput::has_kept() const {
  return std::any_of(files_.begin(), files_.end(),
                     [](const auto& file) { return file->file.has_kept(); });
}

bool TraceOutput::Flush() {
  for (const std::unique_ptr<File>& file : files_)
    Count(&file->file, [&] { is_broken_ = !file->file.Flush() || is_broken_; });
  return !is_broken_;
}

bool TraceOutput::WriteKept() {
  for (const std::unique_ptr<File>& file : files_) {
    Count(&file->file,
          [&] { is_broken_ = !file->file.WriteKept() || is_broken_; });
    if (file->file.has_kept())
      file->file.WaitForReader();
  }
  return !is_broken_;
}

void TraceOutput::GiveUp() {
  for (const std::unique_ptr<File>& file : files_)
    Count(&file->file, [&] { file->file.GiveUp(); });
  is_broken_ = true;
}

template <typename Function>
void TraceOutput::Count(TraceFile* file, const Function& function) {
  const uint64_t packets = file->packets();
  const uint64_t bytes = file->bytes();
  const uint64_t packets_lost = file->packets_lost();
  function();
  // These are fewer than before if the file was removed.
  packets_ += file->packets() - packets;
  bytes_ += file->bytes() - bytes;
  packets_lost_ += file->packets_lost() - packets_lost;
}

void TraceOutput::WriteTo(File* file, const uint8_t* data, size_t size) {
  if (size == 0)
    return;
  Count(&file->file,
        [&] { is_broken_ = !file->file.Write(data, size) || is_broken_; });
  // These come after the service's own packets, with which any trace begins.
  WriteTo(file, std::exchange(file->extension_packets, {}));
}

void TraceOutput::WriteTo(File* file, const std::string& packets) {
  WriteTo(file, reinterpret_cast<const uint8_t*>(packets.data()),
          packets.size());
}

TraceOutput::File* TraceOutput::FileOf(const PacketHeader& packet) {
  if (packet.flags & TracePacket::SEQ_INCREMENTAL_STATE_CLEARED)
    pinned_.erase(packet.sequence);
  if (has_two() && pinned_.count(packet.sequence) != 0)
    return files_.front().get();
  if (packet.flags != 0)
    active_.insert(packet.sequence);
  return files_.back().get();
}

void TraceOutput::Describe(protozero::ConstBytes extensions,
                           const File* owner) {
  std::string key(reinterpret_cast<const char*>(extensions.data),
                  extensions.size);
  if (extensions_.count(key) != 0)
    return;
  protozero::HeapBuffered<protozero::trace::Trace> repeated;
  repeated->add_packet()->AppendBytes(
      TracePacket::kExtensionDescriptorFieldNumber, extensions.data,
      extensions.size);
  const std::string packet = repeated.SerializeAsString();
  // A file needs room for other packets, too.
  const size_t max_size =
      rotation_.bytes == 0 ? kMaxExtensionBytes
                           : std::min(kMaxExtensionBytes, rotation_.bytes / 4);
  if (extension_packets_.size() + packet.size() > max_size)
    return;
  extensions_.insert(std::move(key));
  extension_packets_ += packet;
  for (const std::unique_ptr<File>& file : files_) {
    if (file.get() == owner)
      continue;
    if (file->file.packets() == 0)
      file->extension_packets += packet;
    else
      WriteTo(file.get(), packet);
  }
}

}  // namespace pztrace
