// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACE_SITE_H_
#define INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACE_SITE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <atomic>
#include <type_traits>
#include <utility>

#include "protozero/append_fields.h"
#include "protozero/tracing/trace.h"

#include "protozero/internal/macros.h"

// Call sites, and how an event is made of what its site has encoded:
//
//   68 02 | 5a size | 48 type  18 category_iid  50 name_iid | values | 40 time
//   68 02 | 5a size | 48 type  58 track_uuid                | value  | 40 time
//   '-- TraceSite::fields, at most 16 bytes --------------'
//   '-- SiteEvent -------------------------------------------------' EventTime
//
// The fields are copied at once. The first row is of slices and instants, the
// second of counters whose name is a literal. 68 is TracePacket.sequence_flags,
// 5a track_event, 40 timestamp.
//
// The time is the last field, because on some x86 processors `rdtsc` waits
// until the addresses of all earlier stores are known. If an event's fields
// came after a varint of its time, their addresses would depend on that time,
// and the next event would wait for this one: for some 8 ns.
//
// Ids belong to the process: a site gets them when it is first reached.

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal PROTOZERO_HIDDEN {

// A bit for each session that wants the events of a site. The highest bit
// stands for a site that has not been reached yet. If it is 0, no session wants
// them.
using SessionMask = uint32_t;
inline constexpr SessionMask kNewSite = uint32_t{1} << 31;
inline constexpr size_t kMaxTraceSessions = 31;

// The number of ids of sites, and of different strings of each kind. Strings
// beyond that are written in full, each time.
inline constexpr size_t kMaxInterned = 4096;
// The ids of a site without strings, and of any site beyond kMaxInterned.
inline constexpr uint16_t kNoStringsSite = 0;
inline constexpr uint16_t kNotInternedSite = 1;
// The number of keys of one site that have ids.
inline constexpr size_t kMaxKeysOfSite = 8;

// The texts of a call site. Null for a DynamicCategory or a DynamicString.
struct SiteTexts {
  const char* category;
  const char* name;
};

// A call site. It is static, and the compiler initializes it.
struct TraceSite {
  constexpr TraceSite(trace::TrackEvent::Type type_of_events,
                      const char* category,
                      const char* name)
      : texts{category, name}, type(static_cast<uint8_t>(type_of_events)) {}

  // Returns whether a session wants its events. The first call registers it.
  PROTOZERO_ALWAYS_INLINE bool IsOn() {
    const SessionMask mask = enabled.load(std::memory_order_relaxed);
    return PROTOZERO_UNLIKELY(mask != 0) &&
           (PROTOZERO_LIKELY((mask & kNewSite) == 0) || Register() != 0);
  }
  // Returns whether it is on, without registering, or reached for the first
  // time. For an event that has nothing to evaluate: Sessions() finds out
  // later, without code at the call site.
  PROTOZERO_ALWAYS_INLINE bool MayBeOn() {
    return enabled.load(std::memory_order_relaxed) != 0;
  }
  // Returns the sessions that want its events.
  PROTOZERO_ALWAYS_INLINE SessionMask Sessions() {
    const SessionMask mask = enabled.load(std::memory_order_acquire);
    return PROTOZERO_LIKELY((mask & kNewSite) == 0) ? mask : Register();
  }
  // Returns whether |fields| has taken the place of |texts|. REQUIRES: the site
  // is registered.
  bool has_fields() const { return id != kNotInternedSite; }
  // Gives the site its ids. Returns the sessions that want it; none if a signal
  // handler calls this that has interrupted this function.
  PROTOZERO_COLD SessionMask Register();

  static constexpr size_t kFieldsSize = 16;
  // The part of |fields| that is the packet's; the last byte is the size of the
  // rest.
  static constexpr size_t kPacketFieldsSize = 4;

  std::atomic<SessionMask> enabled{kNewSite};
  uint16_t id = kNotInternedSite;
  uint16_t name_iid = 0;
  union {
    SiteTexts texts;
    uint8_t fields[kFieldsSize];
  };
  uint8_t fields_size = 0;
  const uint8_t type;
  // An event reads nothing from here on.
  uint16_t category_iid = 0;
  TraceSite* next = nullptr;
};

static_assert(sizeof(void*) != 8 || sizeof(TraceSite) == 40,
              "programs have thousands of sites");
static_assert(offsetof(TraceSite, type) < 28,
              "an event reads 28 bytes of its site");

// The holder of the site that |Maker| makes. See PROTOZERO_INTERNAL_TRACE_SITE.
template <typename Maker>
struct TraceSiteOf {
#if defined(__clang__)
  [[clang::require_constant_initialization]]
#endif
  static inline TraceSite site = Maker::Make();
};

}  // namespace internal PROTOZERO_HIDDEN

// The rest is not hidden, because gcc warns if a class is less hidden than the
// types of its fields and bases.
namespace internal {

// The time since the event before, in nanoseconds, as the last field of a
// packet. It has at least two zeros after it.
struct EventTime {
  // The largest time whose varint leaves two of eight bytes: 73 minutes.
  static constexpr uint64_t kMaxDelta = (uint64_t{1} << 42) - 1;
  uint64_t delta;
};

// The first bytes of an annotation with a key of that id, up to its value:
//
//   22 size | 08 iid |        the last of the eight bytes is their number
//
// So an event takes four instructions for them. 22 is
// TrackEvent.debug_annotations, 08 DebugAnnotation.name_iid.
class KeyField {
 public:
  static constexpr size_t kMinSize = 4;
  static constexpr size_t kMaxSize = 5;
  static_assert(kMaxInterned <= 1 << 14, "a varint of two bytes");

  constexpr KeyField() = default;
  // REQUIRES: |iid| is not 0.
  constexpr explicit KeyField(uint16_t iid)
      : bits_(kTags | Varint(iid) << 24 |
              uint64_t{iid < 0x80 ? kMinSize : kMaxSize} << 56) {}

  // Returns 0 for none.
  constexpr uint16_t iid() const {
    return static_cast<uint16_t>((bits_ >> 24 & 0x7f) | (bits_ >> 32 & 0x7f)
                                                            << 7);
  }
  // Returns where the value is to be written. REQUIRES: room for eight bytes.
  PROTOZERO_ALWAYS_INLINE uint8_t* Encode(uint8_t* pos) const {
    const uint64_t bits = bits_;
    StoreLittleEndian(pos, bits);
    return pos + (bits >> 56);
  }

 private:
  static constexpr uint64_t Varint(uint16_t iid) {
    return iid < 0x80 ? uint64_t{iid}
                      : (iid & 0x7fu) | 0x80u | uint64_t{iid} >> 7 << 8;
  }
  static constexpr uint64_t kTags =
      (trace::TrackEvent::kDebugAnnotationsFieldNumber << 3 | 2) |
      uint64_t{trace::DebugAnnotation::kNameIidFieldNumber << 3} << 16;
  uint64_t bits_ = 0;
};
// An annotation of a site's event.
template <typename Value>
struct AnnotationField {
  const KeyField* key;
  Value value;
};

// The fields of a packet before that: those of the site, and values of the
// event.
template <typename... Values>
struct SiteEvent {
  const uint8_t* fields;
  size_t fields_size;
  FieldList<Values...> values;
};

template <>
struct Appendable<EventTime> : std::true_type {
  using message_type = trace::TracePacket;
  static constexpr EventTime Pass(EventTime time) { return time; }
};
template <typename... Values>
struct Appendable<SiteEvent<Values...>> : std::true_type {
  using message_type = trace::TracePacket;
  static constexpr SiteEvent<Values...> Pass(
      const SiteEvent<Values...>& event) {
    return event;
  }
};

// Makes an event's fields, once it is known that its site has them.
template <typename Make>
struct LazyEvent {
  Make make;
};
template <typename Make>
struct Appendable<LazyEvent<Make>> : std::true_type {
  using message_type = trace::TracePacket;
  static constexpr auto Pass(const LazyEvent<Make>& event) {
    return event.make();
  }
};

template <>
struct ConstantEncoder<EventTime> {
  static constexpr size_t kHeader = 1 + sizeof(uint64_t);
  static constexpr size_t kMinHeader = 2;
  static constexpr size_t kAhead = 0;
  static constexpr uint64_t BodySize(EventTime) { return 0; }
  static constexpr uint64_t SizeBits(EventTime) { return 0; }
  PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(EventTime time, uint8_t* pos) {
    *pos = trace::TracePacket::kTimestampFieldNumber << 3;
    return proto_utils::internal::WriteVarInt56Inline<1>(time.delta, pos,
                                                         LoadVarIntMasks());
  }
};

template <typename Value>
struct ConstantEncoder<AnnotationField<Value>> {
  using All = FieldsAppender::Encoders<Value>;
  static constexpr size_t kHeader = KeyField::kMaxSize + All::kHeader;
  static constexpr size_t kMinHeader = KeyField::kMinSize + All::kMinHeader;
  static constexpr size_t kAhead = KeyField::kMaxSize + All::kAhead;

  PROTOZERO_ALWAYS_INLINE static uint64_t BodySize(
      const AnnotationField<Value>& field) {
    return All::BodySize(field.value);
  }
  PROTOZERO_ALWAYS_INLINE static uint64_t SizeBits(
      const AnnotationField<Value>& field) {
    return All::SizeBits(field.value);
  }
  // REQUIRES: the annotation is at most kMaxOneByteMessageLength.
  PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(
      const AnnotationField<Value>& field,
      uint8_t* pos) {
    uint8_t* const end = All::Encode(field.key->Encode(pos), field.value);
    pos[1] = static_cast<uint8_t>(end - (pos + 2));
    return end;
  }
};

template <typename Indices, typename... Values>
struct SiteEventEncoder;
template <size_t... i, typename... Values>
struct SiteEventEncoder<std::index_sequence<i...>, Values...> {
  using Event = SiteEvent<Values...>;
  using All = FieldsAppender::Encoders<Values...>;
  static constexpr size_t kHeader = TraceSite::kFieldsSize + All::kHeader;
  static constexpr size_t kMinHeader = TraceSite::kPacketFieldsSize;
  static constexpr size_t kAhead = TraceSite::kFieldsSize + All::kAhead;

  PROTOZERO_ALWAYS_INLINE static uint64_t BodySize(const Event& event) {
    return All::BodySize(Get<i>(event.values.values)...);
  }
  PROTOZERO_ALWAYS_INLINE static uint64_t SizeBits(const Event& event) {
    return All::SizeBits(Get<i>(event.values.values)...);
  }
  // REQUIRES: the packet is at most kMaxOneByteMessageLength.
  PROTOZERO_ALWAYS_INLINE static uint8_t* Encode(const Event& event,
                                                 uint8_t* pos) {
    memcpy(pos, event.fields, TraceSite::kFieldsSize);
    uint8_t* const end =
        All::Encode(pos + event.fields_size, Get<i>(event.values.values)...);
    if constexpr (sizeof...(Values) != 0) {
      pos[TraceSite::kPacketFieldsSize - 1] =
          static_cast<uint8_t>(end - (pos + TraceSite::kPacketFieldsSize));
    }
    return end;
  }
};
template <typename... Values>
struct ConstantEncoder<SiteEvent<Values...>>
    : SiteEventEncoder<std::index_sequence_for<Values...>, Values...> {};

}  // namespace internal

namespace internal PROTOZERO_HIDDEN {

// The keys of sites, in their order at the site. A site gets them when its
// first event is written.
extern KeyField g_key_fields[kMaxInterned][kMaxKeysOfSite];

template <typename... Values>
PROTOZERO_ALWAYS_INLINE SiteEvent<Values...> EventOf(const TraceSite& site,
                                                     Values... values) {
  return {site.fields, site.fields_size, FieldList<Values...>(values...)};
}

}  // namespace internal PROTOZERO_HIDDEN
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACE_SITE_H_
