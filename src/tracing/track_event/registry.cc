// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/track_event/registry.h"

#include <pthread.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "protozero/tracing/track_event.h"
#include "src/tracing/track_event/category_rules.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

alignas(64) KeyField g_key_fields[kMaxInterned][kMaxKeysOfSite];

namespace {

// A session's wishes, and the instance that they belong to.
struct Session {
  const DataSourceInstance* instance = nullptr;
  // False while it is set up, but not started.
  bool is_started = false;
  // Objects that all threads share that write to the session.
  std::shared_ptr<const CategoryRules> rules;
  std::shared_ptr<std::atomic<uint64_t>> described_extensions;
};

// The state of all sites and sessions. It is never destroyed.
class Registry {
 public:
  std::mutex lock;
  TraceSite* sites = nullptr;
  // The number of sites, with two for the ids that have a meaning of their own.
  uint16_t num_sites = 2;
  // The declared categories. Events read them without the lock.
  std::atomic<TraceCategory*> categories{nullptr};
  StringTable category_ids;
  StringTable name_ids;
  StringTable key_ids;
  Session sessions[kMaxTraceSessions];
  void (*after_update)() = nullptr;

  // Returns null if the category was not declared.
  const TraceCategory* Find(std::string_view category) const {
    const TraceCategory* it = categories.load(std::memory_order_acquire);
    while (it != nullptr && it->name != category)
      it = it->next;
    return it;
  }
  std::string_view TagsOf(std::string_view category) const {
    const TraceCategory* const declared = Find(category);
    return declared != nullptr ? declared->tags : std::string_view();
  }

  SessionMask MaskOf(const char* category) const {
    SessionMask mask = 0;
    for (size_t i = 0; i < kMaxTraceSessions; ++i) {
      const Session& session = sessions[i];
      // Events check categories that are known only at run time.
      if (session.is_started &&
          (category == nullptr ||
           session.rules->Wants(category, TagsOf(category)))) {
        mask |= SessionMask{1} << i;
      }
    }
    return mask;
  }

  void UpdateSites() {
    const bool is_other_process = process_uuid != ProcessUuid();
    for (TraceSite* site = sites; site != nullptr; site = site->next) {
      // After a fork(), no event comes before this.
      if (is_other_process && site->type == trace::TrackEvent::TYPE_COUNTER &&
          site->has_fields()) {
        EncodeFields(site);
      }
      site->enabled.store(MaskOf(CategoryOf(*site)), std::memory_order_release);
    }
    process_uuid = ProcessUuid();
    if (after_update != nullptr)
      after_update();
  }

  // Returns the category's text; null for one that is known only at run time.
  static const char* CategoryOf(const TraceSite& site);

  // Gives the site its ids, and encodes its fields, if it has strings that can
  // have ids or none at all.
  void Intern(TraceSite* site);

 private:
  void EncodeFields(TraceSite* site);

  // The process that |track_uuid| of counters was encoded for.
  uint64_t process_uuid = 0;
};

union NeverDestroyed {
  constexpr NeverDestroyed() : registry() {}
  ~NeverDestroyed() {}
  Registry registry;
};
NeverDestroyed g_storage;

Registry& Get() {
  return g_storage.registry;
}

__thread bool t_holds_lock = false;

void LockRegistry() {
  Get().lock.lock();
}
void UnlockRegistry() {
  Get().lock.unlock();
}
// Forgets the sessions, which belong to the parent.
void ForgetSessionsInChild() {
  Registry& registry = Get();
  for (Session& session : registry.sessions) {
    session.instance = nullptr;
    session.is_started = false;
  }
  registry.UpdateSites();
  ResetTraceClockAfterFork();
  ResetThreadsAfterFork();
  registry.lock.unlock();
}

uint8_t* AppendField(uint32_t id, uint64_t value, uint8_t* pos) {
  pos = proto_utils::WriteVarInt(id << 3, pos);
  return proto_utils::WriteVarInt(value, pos);
}

const char* Registry::CategoryOf(const TraceSite& site) {
  if (!site.has_fields())
    return site.texts.category;
  return site.category_iid != 0 ? Get().category_ids.text(site.category_iid)
                                : nullptr;
}

void Registry::Intern(TraceSite* site) {
  const auto [category, name] = site->texts;
  // An event says a list as text.
  if (category == nullptr || strchr(category, ',') != nullptr)
    return;
  site->category_iid = category_ids.Intern(category);
  if (site->category_iid == 0)
    return;
  const bool is_end = site->type == trace::TrackEvent::TYPE_SLICE_END;
  const bool is_counter = site->type == trace::TrackEvent::TYPE_COUNTER;
  if (is_end || (is_counter && name == nullptr)) {
    site->id = kNoStringsSite;
  } else {
    site->name_iid = name != nullptr ? name_ids.Intern(name) : uint16_t{0};
    if (num_sites == kMaxInterned || (name != nullptr && site->name_iid == 0))
      return;
    site->id = num_sites++;
  }
  EncodeFields(site);
}

void Registry::EncodeFields(TraceSite* site) {
  using trace::TracePacket;
  using trace::TrackEvent;
  uint8_t encoded[2 * TraceSite::kFieldsSize] = {};
  uint8_t* pos = encoded + TraceSite::kPacketFieldsSize;
  pos = AppendField(TrackEvent::kTypeFieldNumber, site->type, pos);
  if (site->id != kNoStringsSite) {
    if (site->type == TrackEvent::TYPE_COUNTER) {
      const CounterTrack track(NameOf(*site));
      pos = AppendField(TrackEvent::kTrackUuidFieldNumber, track.uuid(), pos);
    } else {
      pos = AppendField(TrackEvent::kCategoryIidsFieldNumber,
                        site->category_iid, pos);
      if (site->name_iid != 0)
        pos = AppendField(TrackEvent::kNameIidFieldNumber, site->name_iid, pos);
    }
  }
  site->fields_size = static_cast<uint8_t>(pos - encoded);
  encoded[0] = TracePacket::kSequenceFlagsFieldNumber << 3;
  encoded[1] = TracePacket::SEQ_NEEDS_INCREMENTAL_STATE;
  encoded[2] = TracePacket::kTrackEventFieldNumber << 3 | 2;
  encoded[3] =
      static_cast<uint8_t>(site->fields_size - TraceSite::kPacketFieldsSize);
  PROTOZERO_DCHECK(site->fields_size <= TraceSite::kFieldsSize,
                   "ids take two bytes, and track ids nine");
  memcpy(site->fields, encoded, TraceSite::kFieldsSize);
}

class TrackEvents final : public DataSource {
 public:
  TrackEvents() : DataSource(Descriptor()) {}

 private:
  // A limit that is less than a frame to the service holds, which has 128 KB.
  static constexpr size_t kMaxDescriptorSize = 120 * 1024;

  // Appends the categories that have been declared, and those of call sites
  // that have been reached.
  void AppendToDescriptor(Message* message) const override {
    const Registry& registry = Get();
    auto* const descriptor =
        message->BeginNestedMessage<trace::TrackEventDescriptor>(
            trace::DataSourceDescriptor::kTrackEventDescriptorFieldNumber);
    size_t size = 0;
    uint32_t num_left_out = 0;
    const auto add = [&](const TraceCategory* declared, std::string_view name) {
      constexpr size_t kOverhead = 16;
      const size_t own_size =
          kOverhead + name.size() +
          (declared == nullptr
               ? 0
               : declared->description.size() + 2 * declared->tags.size());
      if (own_size > kMaxDescriptorSize - size) {
        ++num_left_out;
        return;
      }
      size += own_size;
      auto* const category = descriptor->add_available_categories();
      category->set_name(name);
      if (declared == nullptr)
        return;
      if (!declared->description.empty())
        category->set_description(declared->description);
      for (std::string_view tags = declared->tags; !tags.empty();) {
        const std::string_view tag = tags.substr(0, tags.find(' '));
        if (!tag.empty())
          category->add_tags(tag);
        tags.remove_prefix(std::min(tag.size() + 1, tags.size()));
      }
    };
    for (const TraceCategory* it =
             registry.categories.load(std::memory_order_acquire);
         it != nullptr; it = it->next) {
      // If a category is declared twice, the last declaration counts.
      if (registry.Find(it->name) == it)
        add(it, it->name);
    }
    const uint16_t num_reached = registry.category_ids.size();
    for (uint16_t id = 1; id <= num_reached; ++id) {
      const std::string_view name = registry.category_ids.text(id);
      if (registry.Find(name) == nullptr)
        add(nullptr, name);
    }
    if (num_left_out != 0)
      descriptor->set_categories_left_out(num_left_out);
  }

  static DataSourceDescriptor Descriptor() {
    DataSourceDescriptor descriptor;
    descriptor.name = "track_event";
    descriptor.handles_incremental_state_clear = true;
    return descriptor;
  }

  void OnSetup(const DataSourceInstance& instance) override {
    auto rules =
        std::make_shared<const CategoryRules>(instance.config().raw_fields);
    const RegistryLock lock;
    for (Session& session : Get().sessions) {
      if (session.instance == nullptr) {
        session.instance = &instance;
        session.rules = std::move(rules);
        session.described_extensions =
            std::make_shared<std::atomic<uint64_t>>(0);
        return;
      }
    }
    Refuse(instance);
  }
  void OnStart(const DataSourceInstance& instance) override {
    const RegistryLock lock;
    if (Session* const session = Find(instance))
      session->is_started = true;
    Get().UpdateSites();
  }
  void OnStop(const DataSourceInstance& instance) override {
    const RegistryLock lock;
    if (Session* const session = Find(instance)) {
      session->is_started = false;
      session->instance = nullptr;
    }
    Get().UpdateSites();
  }

  static Session* Find(const DataSourceInstance& instance) {
    for (Session& session : Get().sessions) {
      if (session.instance == &instance)
        return &session;
    }
    return nullptr;
  }
};

}  // namespace

RegistryLock::RegistryLock() : is_held_(!t_holds_lock) {
  if (!is_held_)
    return;
  t_holds_lock = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Get().lock.lock();
}

RegistryLock::~RegistryLock() {
  if (!is_held_)
    return;
  Get().lock.unlock();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_holds_lock = false;
}

uint16_t StringTable::Intern(const char* text) {
  const std::string_view wanted(text);
  size_t slot = HashText(kFnvOffset, wanted) % kNumSlots;
  for (; slots_[slot] != 0; slot = (slot + 1) % kNumSlots) {
    if (texts_[slots_[slot] - 1] == wanted)
      return slots_[slot];
  }
  // All ids must fit into an IdSet.
  const uint16_t id = static_cast<uint16_t>(size() + 1);
  if (id >= kMaxInterned)
    return 0;
  texts_[id - 1] = text;
  slots_[slot] = id;
  num_.store(id, std::memory_order_release);
  return id;
}

std::string_view CategoryOf(const TraceSite& site) {
  const char* const text = Registry::CategoryOf(site);
  return text != nullptr ? text : std::string_view();
}
std::string_view NameOf(const TraceSite& site) {
  if (site.has_fields())
    return NameOfSite(site.name_iid);
  return site.texts.name != nullptr ? site.texts.name : std::string_view();
}

SessionMask TraceSite::Register() {
  const RegistryLock lock;
  if (!lock.is_held())
    return 0;
  Registry& registry = Get();
  if ((enabled.load(std::memory_order_relaxed) & kNewSite) != 0) {
    registry.Intern(this);
    next = registry.sites;
    registry.sites = this;
    enabled.store(registry.MaskOf(Registry::CategoryOf(*this)),
                  std::memory_order_release);
  }
  return enabled.load(std::memory_order_relaxed);
}

bool InternKeys(TraceSite* site, const char* const* keys, size_t num_keys) {
  const RegistryLock lock;
  if (!lock.is_held() || num_keys > kMaxKeysOfSite)
    return false;
  bool has_all = true;
  for (size_t i = 0; i < num_keys; ++i) {
    KeyField& key = g_key_fields[site->id][i];
    if (key.iid() != 0)
      continue;
    const uint16_t iid = Get().key_ids.Intern(keys[i]);
    if (iid != 0)
      key = KeyField(iid);
    has_all = has_all && iid != 0;
  }
  return has_all;
}

namespace {

std::atomic<uint64_t> g_events_without_memory{0};

}  // namespace

uint64_t NumEventsWithoutMemory() {
  return g_events_without_memory.load(std::memory_order_relaxed);
}
void CountEventWithoutMemory() {
  g_events_without_memory.fetch_add(1, std::memory_order_relaxed);
}

TraceSequence* AddSequenceOfKind(TraceContext& context) {
  const RegistryLock lock;
  if (!lock.is_held())
    return nullptr;
  ReadSystemThreadName(t_trace_thread);
  SessionMask bit = 0;
  std::shared_ptr<const CategoryRules> rules;
  std::shared_ptr<std::atomic<uint64_t>> described_extensions;
  for (size_t i = 0; i < kMaxTraceSessions; ++i) {
    const Session& session = Get().sessions[i];
    if (session.instance == &context.instance()) {
      bit = SessionMask{1} << i;
      rules = session.rules;
      described_extensions = session.described_extensions;
    }
  }
  // If there are too many sessions, the sequence has no rules and no events.
  std::unique_ptr<TraceSequence> sequence(new (std::nothrow)
                                              TraceSequence(bit));
  if (sequence == nullptr) {
    CountEventWithoutMemory();
    return nullptr;
  }
  if (rules != nullptr) {
    sequence->filters_args = rules->filters_args();
    sequence->filters_dynamic_names = rules->filters_dynamic_names();
    sequence->rules = std::move(rules);
    sequence->described_extensions = std::move(described_extensions);
  }
  TraceSequence* const added = sequence.get();
  context.set_state(std::move(sequence));
  return added;
}

TraceSequence* AddTraceSequence(TraceContext& context) {
  TraceSequence* const sequence = AddSequenceOfKind(context);
  // The open slices have not begun in this session, but perhaps in an earlier
  // one with the same bit.
  if (sequence != nullptr)
    t_trace_thread->open_slices.Doubt(sequence->session);
  return sequence;
}

void CallAfterUpdates(void (*function)()) {
  Get().after_update = function;
}

std::string_view NameOfSite(uint16_t name_iid) {
  return name_iid != 0 ? Get().name_ids.text(name_iid) : std::string_view();
}

bool WantsCategory(const TraceSequence& sequence, std::string_view category) {
  return sequence.rules != nullptr &&
         sequence.rules->Wants(category, Get().TagsOf(category));
}

TraceCategory::TraceCategory(const char* name_text,
                             const char* description_text,
                             const char* tags_text)
    : name(name_text), description(description_text), tags(tags_text) {
  const RegistryLock lock;
  next = Get().categories.load(std::memory_order_relaxed);
  Get().categories.store(this, std::memory_order_release);
  Get().UpdateSites();
}

}  // namespace internal

std::shared_ptr<DataSource> TrackEventDataSource() {
  // Threads may trace when static objects are gone.
  static auto& source = *new std::shared_ptr<DataSource>([] {
    pthread_atfork(&internal::LockRegistry, &internal::UnlockRegistry,
                   &internal::ForgetSessionsInChild);
    return std::make_shared<internal::TrackEvents>();
  }());
  return source;
}

PROTOZERO_ABI_END
}  // namespace protozero
