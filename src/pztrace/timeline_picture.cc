// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/timeline_picture.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/pztrace/svg_text.h"
#include "src/pztrace/timeline_file.h"

namespace pztrace {

namespace {

// In pixels.
constexpr double kMargin = 10;
constexpr double kLineHeight = 18;
constexpr double kSliceHeight = kLineHeight - 1;
constexpr double kCounterHeight = 34;
constexpr double kRowGap = 6;
constexpr double kIndent = 12;
constexpr double kMaxLabel = 200;
// What is narrower is drawn with its neighbours.
constexpr double kMinSlice = 0.8;

constexpr uint32_t kNumColors = 7;
constexpr size_t kMaxParents = 16;

// Light, or dark if the reader prefers that. The image has a background of its
// own, for it cannot know what it stands on. Without variables of CSS, which
// few programs but browsers know.
constexpr char kStyle[] = R"(<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.p { font-weight: 600; } .q { fill: #59636e; font-size: 11px; }
.s { font: 11px ui-monospace, Menlo, Consolas, monospace; }
.b { fill: #ffffff; } .g { stroke: #d8dee4; } .m { fill: #8c959f; }
.v { fill: #b6d7ff; stroke: #0969da; } .i { fill: #0969da; }
.c0 { fill: #b6d7ff; } .c1 { fill: #ffd1ae; } .c2 { fill: #b3e6bd; }
.c3 { fill: #dfcbff; } .c4 { fill: #ffc9d8; } .c5 { fill: #a8e4e6; }
.c6 { fill: #ece39f; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .q { fill: #9198a1; }
.b { fill: #0d1117; } .g { stroke: #30363d; } .m { fill: #6e7681; }
.v { fill: #1b4a7f; stroke: #58a6ff; } .i { fill: #58a6ff; }
.c0 { fill: #1b4a7f; } .c1 { fill: #7a4316; } .c2 { fill: #1d5c30; }
.c3 { fill: #553a86; } .c4 { fill: #7d3350; } .c5 { fill: #175a5d; }
.c6 { fill: #5c5417; }
}
</style>
)";

const std::string& NameOf(const EventText& text) {
  static const std::string& no_name = *new std::string("(no name)");
  return text.name.empty() ? no_name : text.name;
}

// The least of 1, 2 or 5 times a power of ten that is |least| or more.
double RoundStep(double least) {
  double power = 1;
  while (power * 10 <= least)
    power *= 10;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= least)
      return power * factor;
  }
  return power * 10;
}

std::string NumberText(double value) {
  char text[32];
  snprintf(text, sizeof(text), "%.15g", value);
  return text;
}

// The track and what it is part of, from the outside.
std::vector<uint64_t> PathTo(uint64_t track,
                             const std::map<uint64_t, TrackInfo>& tracks) {
  std::vector<uint64_t> path;
  // A damaged trace may have a circle.
  while (path.size() < kMaxParents) {
    path.push_back(track);
    const auto found = tracks.find(track);
    if (found == tracks.end() || found->second.parent == 0)
      break;
    track = found->second.parent;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

// One image.
class TimelinePicture::Drawing {
 public:
  using Tracks = std::map<uint64_t, TrackInfo>;

  Drawing(const TimelinePicture& picture,
          const Tracks& tracks,
          const Options& options)
      : picture_(picture), tracks_(tracks), width_(options.width) {
    const uint64_t length = picture.last_ns_ - picture.first_ns_;
    from_ns_ = std::min(options.from_ns, length);
    to_ns_ = std::max(from_ns_ + 1, std::min(options.to_ns, length));
  }

  std::string Draw() {
    PlaceRows();
    y_ = kMargin + kLineHeight + kRowGap;
    std::set<uint64_t> said;
    for (const uint64_t track : order_)
      DrawRow(track, &said);
    std::string image;
    Append(&image,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
           "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
           width_, y_, width_, y_);
    image += "<title>A trace of " +
             DurationText(picture_.last_ns_ - picture_.first_ns_) +
             "</title>\n";
    image += kStyle;
    Append(&image, "<rect class=\"b\" width=\"%.0f\" height=\"%.0f\"/>\n",
           width_, y_);
    DrawAxis(&image);
    return image + rows_ + "</svg>\n";
  }

 private:
  const TrackInfo& InfoOf(uint64_t track) const {
    static const TrackInfo& unknown = *new TrackInfo();
    const auto found = tracks_.find(track);
    return found == tracks_.end() ? unknown : found->second;
  }

  std::string LabelOf(uint64_t track) const {
    const TrackInfo& info = InfoOf(track);
    std::string label = info.name;
    const int64_t id = info.tid != 0 ? info.tid : info.pid;
    if (label.empty())
      label = id != 0 ? (info.tid != 0 ? "thread" : "process") : "track";
    if (id != 0)
      label += " " + std::to_string(id);
    return label;
  }

  static double LettersOf(const std::string& text) {
    return static_cast<double>(CountLetters(text));
  }

  // What is below the label of a counter.
  std::string MaxText(uint64_t track) const {
    double high = 0;
    for (const CounterValue& value : picture_.rows_.at(track).values) {
      if (isfinite(value.value))
        high = std::max(high, value.value);
    }
    const std::string& unit = InfoOf(track).unit;
    return "max " + NumberText(high) + (unit.empty() ? "" : " ") + unit;
  }

  // Siblings have the order that they ask for; processes and threads, that of
  // their numbers.
  void PlaceRows() {
    using Key = std::vector<std::pair<int64_t, uint64_t>>;
    std::vector<std::pair<Key, uint64_t>> keys;
    double label = 0;
    for (const auto& [track, row] : picture_.rows_) {
      const std::vector<uint64_t> path = PathTo(track, tracks_);
      Key key;
      for (const uint64_t part : path) {
        const TrackInfo& info = InfoOf(part);
        key.push_back({info.tid != 0   ? info.tid
                       : info.pid != 0 ? info.pid
                                       : info.order,
                       part});
      }
      double letters = LettersOf(LabelOf(track));
      if (!row.values.empty())
        letters = std::max(letters, LettersOf(MaxText(track)));
      label = std::max(label, kIndent * static_cast<double>(path.size()) +
                                  kLetter * letters);
      keys.push_back({std::move(key), track});
    }
    std::sort(keys.begin(), keys.end());
    for (const auto& [key, track] : keys)
      order_.push_back(track);
    left_ = kMargin + std::min(label, kMaxLabel) + kMargin;
    scale_ =
        (width_ - kMargin - left_) / static_cast<double>(to_ns_ - from_ns_);
  }

  // Where a time is, which may be outside.
  double X(uint64_t time_ns) const {
    return left_ + (static_cast<double>(time_ns - picture_.first_ns_) -
                    static_cast<double>(from_ns_)) *
                       scale_;
  }
  double right() const { return width_ - kMargin; }

  void DrawText(const char* style,
                double x,
                double y,
                const std::string& text,
                std::string* out) const {
    Append(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", style, x, y);
    *out += XmlText(text) + "</text>\n";
  }

  void DrawAxis(std::string* out) const {
    const double from = static_cast<double>(from_ns_);
    const double step = RoundStep(90 / scale_);
    for (double time = ceil(from / step) * step;
         time <= static_cast<double>(to_ns_); time += step) {
      const double x = left_ + (time - from) * scale_;
      Append(out, "<path class=\"g\" d=\"M%.1f %.0fV%.0f\"/>\n", x, kMargin,
             y_ - kMargin);
      const std::string text = AxisText(time, step);
      if (x + kLetter * LettersOf(text) < right())
        DrawText("q", x + 3, kMargin + 11, text, out);
    }
  }

  // The unit is that of the step, so that the numbers are easy to compare.
  static std::string AxisText(double time, double step) {
    constexpr struct {
      double factor;
      const char* unit;
    } kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
    for (const auto& unit : kUnits) {
      if (step >= unit.factor || (unit.factor > 1e8 && time >= unit.factor))
        return NumberText(time / unit.factor) + " " + unit.unit;
    }
    return NumberText(time) + " ns";
  }

  void DrawRow(uint64_t track, std::set<uint64_t>* said) {
    const std::vector<uint64_t> path = PathTo(track, tracks_);
    double indent = kMargin;
    for (const uint64_t part : path) {
      // What a track is part of has a line of its own, once.
      if (part != track && said->insert(part).second &&
          picture_.rows_.count(part) == 0) {
        DrawLabel(part, indent);
        y_ += kLineHeight;
      }
      if (part != track)
        indent += kIndent;
    }
    said->insert(track);
    DrawLabel(track, indent);
    const Row& row = picture_.rows_.at(track);
    double height = kLineHeight;
    if (!row.values.empty()) {
      DrawCounter(track, row.values);
      height = kCounterHeight;
    }
    for (const auto& [depth, slices] : ByDepth(row.slices)) {
      DrawSlices(slices, y_ + kLineHeight * depth);
      height = std::max(height, kLineHeight * (depth + 1));
    }
    DrawInstants(row.instants);
    y_ += height + kRowGap;
  }

  void DrawLabel(uint64_t track, double x) {
    const TrackInfo& info = InfoOf(track);
    const char* style = info.pid != 0 && info.tid == 0 ? "p" : "t";
    // Nothing is right of a track without events.
    const double end = picture_.rows_.count(track) != 0 ? left_ : right();
    DrawText(style, x, y_ + 13, Fitting(LabelOf(track), end - kMargin - x),
             &rows_);
  }

  static std::map<uint32_t, std::vector<const Slice*>> ByDepth(
      const std::vector<Slice>& slices) {
    std::map<uint32_t, std::vector<const Slice*>> lines;
    for (const Slice& slice : slices)
      lines[slice.depth].push_back(&slice);
    for (auto& [depth, line] : lines) {
      std::stable_sort(line.begin(), line.end(),
                       [](const Slice* a, const Slice* b) {
                         return a->begin_ns < b->begin_ns;
                       });
    }
    return lines;
  }

  // |slices| are in order.
  void DrawSlices(const std::vector<const Slice*>& slices, double y) {
    double many_begin = 0;
    double many_end = 0;
    uint64_t many = 0;
    const auto draw_many = [&] {
      if (many == 0)
        return;
      Append(&rows_,
             "<rect class=\"m\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
             "height=\"%.0f\"><title>%" PRIu64 " slices</title></rect>\n",
             many_begin, y, std::max(kMinSlice, many_end - many_begin),
             kSliceHeight, many);
      many = 0;
    };
    for (const Slice* slice : slices) {
      const double begin = std::max(left_, X(slice->begin_ns));
      const double end =
          std::min(right(), X(slice->begin_ns + slice->duration_ns));
      if (end < left_ || begin > right())
        continue;
      if (end - begin >= kMinSlice) {
        draw_many();
        DrawSlice(*slice, begin, end, y);
        continue;
      }
      if (many != 0 && begin - many_end > kMinSlice)
        draw_many();
      if (many++ == 0)
        many_begin = begin;
      many_end = std::max(end, many_begin);
    }
    draw_many();
  }

  void DrawSlice(const Slice& slice, double begin, double end, double y) {
    const std::string& name = NameOf(*slice.text);
    Append(&rows_,
           "<rect class=\"c%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
           "height=\"%.0f\" rx=\"1.5\"><title>",
           slice.text_id % kNumColors, begin, y, end - begin, kSliceHeight);
    rows_ += XmlText(name);
    if (!slice.text->category.empty())
      rows_ += " (" + XmlText(slice.text->category) + ")";
    rows_ += ": " + DurationText(slice.duration_ns) + ", at " +
             DurationText(slice.begin_ns - picture_.first_ns_) +
             "</title></rect>\n";
    const std::string text = Fitting(name, end - begin - 6);
    if (!text.empty())
      DrawText("s", begin + 3, y + 12.5, text, &rows_);
  }

  void DrawInstants(std::vector<Instant> instants) {
    std::stable_sort(instants.begin(), instants.end(),
                     [](const Instant& a, const Instant& b) {
                       return a.time_ns < b.time_ns;
                     });
    double last = -kMinSlice;
    for (const Instant& instant : instants) {
      const double x = X(instant.time_ns);
      if (x < left_ || x > right() || x - last < kMinSlice)
        continue;
      last = x;
      Append(&rows_, "<path class=\"i\" d=\"M%.1f %.1fl-3.5 6h7z\"><title>", x,
             y_);
      rows_ += XmlText(NameOf(*instant.text)) + ", at " +
               DurationText(instant.time_ns - picture_.first_ns_) +
               "</title></path>\n";
    }
  }

  // A line with steps.
  void DrawCounter(uint64_t track, std::vector<CounterValue> values) {
    std::stable_sort(values.begin(), values.end(),
                     [](const CounterValue& a, const CounterValue& b) {
                       return a.time_ns < b.time_ns;
                     });
    double low = 0;
    double high = 0;
    for (const CounterValue& value : values) {
      if (!isfinite(value.value))
        continue;
      low = std::min(low, value.value);
      high = std::max(high, value.value);
    }
    const double bottom = y_ + kCounterHeight - 2;
    const double scale = high > low && isfinite(high - low)
                             ? (kCounterHeight - 4) / (high - low)
                             : 0;
    std::string path;
    double last_x = left_;
    for (size_t i = 0; i < values.size(); ++i) {
      const double end =
          i + 1 < values.size() ? X(values[i + 1].time_ns) : right();
      // The last one of each pixel.
      if (end < last_x + kMinSlice || !isfinite(values[i].value))
        continue;
      const double begin =
          std::min(right(), std::max(last_x, X(values[i].time_ns)));
      const double y = bottom - (values[i].value - low) * scale;
      if (path.empty())
        Append(&path, "M%.1f %.1f", begin, bottom);
      Append(&path, "H%.1fV%.1f", begin, y);
      last_x = begin;
      if (end >= right()) {
        Append(&path, "H%.1fV%.1f", right(), bottom);
        break;
      }
    }
    if (path.empty())
      return;
    rows_ += "<path class=\"v\" d=\"" + path + "\"><title>" +
             XmlText(LabelOf(track)) + ": " + NumberText(low) + " to " +
             NumberText(high) + "</title></path>\n";
    const double x =
        kMargin + kIndent * static_cast<double>(PathTo(track, tracks_).size());
    DrawText("q", x, y_ + 28, Fitting(MaxText(track), left_ - x), &rows_);
  }

  const TimelinePicture& picture_;
  const Tracks& tracks_;
  const double width_;
  // Since the first event.
  uint64_t from_ns_;
  uint64_t to_ns_;
  std::vector<uint64_t> order_;
  double left_ = 0;   // Where time begins.
  double scale_ = 1;  // Pixels of a nanosecond.
  double y_ = 0;      // Of the next row.
  std::string rows_;
};

void TimelinePicture::AddTime(uint64_t begin_ns, uint64_t end_ns) {
  first_ns_ = std::min(first_ns_, begin_ns);
  last_ns_ = std::max({last_ns_, begin_ns, end_ns});
}

void TimelinePicture::Add(const Slice& slice) {
  AddTime(slice.begin_ns, slice.begin_ns + slice.duration_ns);
  rows_[slice.track].slices.push_back(slice);
}

void TimelinePicture::Add(const Instant& instant) {
  AddTime(instant.time_ns, instant.time_ns);
  rows_[instant.track].instants.push_back(instant);
}

void TimelinePicture::Add(const CounterValue& value) {
  AddTime(value.time_ns, value.time_ns);
  rows_[value.track].values.push_back(value);
}

std::string TimelinePicture::Draw(const std::map<uint64_t, TrackInfo>& tracks,
                                  const Options& options) const {
  return Drawing(*this, tracks, options).Draw();
}

}  // namespace pztrace
