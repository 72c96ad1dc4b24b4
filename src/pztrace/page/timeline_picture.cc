// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/page/timeline_picture.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include <algorithm>
#include <vector>

#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/page/svg_text.h"

namespace pztrace {

namespace {

// The sizes in pixels.
constexpr double kMargin = 10;
constexpr double kLineHeight = 18;
constexpr double kSliceHeight = kLineHeight - 1;
constexpr double kCounterHeight = 34;
constexpr double kRowGap = 6;
constexpr double kIndent = 12;
constexpr double kMaxLabel = 200;
// The least width. Narrower slices are drawn with their neighbours.
constexpr double kMinSlice = 0.8;
constexpr double kMinLost = 2;

constexpr uint32_t kNumColors = 7;

// A light style, or a dark one if the reader prefers that. The image has a
// background of its own, because it cannot know what is behind it. It has no
// CSS variables, which few programs but browsers know.
constexpr char kStyle[] = R"(<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.p { font-weight: 600; } .q { fill: #59636e; font-size: 11px; }
.s { font: 11px ui-monospace, Menlo, Consolas, monospace; }
.b { fill: #ffffff; } .g { stroke: #d8dee4; } .m { fill: #8c959f; }
.v { fill: #b6d7ff; stroke: #0969da; } .i { fill: #0969da; }
.h { stroke: #cf222e; } .o { stroke: #cf222e; stroke-dasharray: 4 3; }
.l { fill: url(#pztrace-lost); }
.c0 { fill: #b6d7ff; } .c1 { fill: #ffd1ae; } .c2 { fill: #b3e6bd; }
.c3 { fill: #dfcbff; } .c4 { fill: #ffc9d8; } .c5 { fill: #a8e4e6; }
.c6 { fill: #ece39f; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .q { fill: #9198a1; }
.b { fill: #0d1117; } .g { stroke: #30363d; } .m { fill: #6e7681; }
.v { fill: #1b4a7f; stroke: #58a6ff; } .i { fill: #58a6ff; }
.h, .o { stroke: #ff7b72; }
.c0 { fill: #1b4a7f; } .c1 { fill: #7a4316; } .c2 { fill: #1d5c30; }
.c3 { fill: #553a86; } .c4 { fill: #7d3350; } .c5 { fill: #175a5d; }
.c6 { fill: #5c5417; }
}
</style>
)";
constexpr char kHatching[] =
    "<defs><pattern id=\"pztrace-lost\" width=\"6\" height=\"6\" "
    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
    "<path class=\"h\" d=\"M1 0V6\"/></pattern></defs>\n";

// Returns the least of 1, 2 or 5 times a power of ten that is at least |least|.
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

// One image.
class Drawing {
 public:
  Drawing(const Tracks& tracks, const PictureOptions& options, TrackRows* rows)
      : tracks_(tracks),
        width_(options.width),
        first_ns_(rows->first_ns()),
        length_ns_(rows->last_ns() - rows->first_ns()),
        from_ns_(std::min({options.from_ns, length_ns_, UINT64_MAX - 1})),
        to_ns_(std::max(from_ns_ + 1, std::min(options.to_ns, length_ns_))),
        rows_(rows->Arrange(tracks)) {}

  std::string Draw() {
    PlaceTime();
    y_ = kMargin + kLineHeight + kRowGap;
    for (const TrackRow& row : rows_)
      DrawRow(row);
    std::string image;
    Append(&image,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
           "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
           width_, y_, width_, y_);
    image += "<title>A trace of " + DurationText(length_ns_) + "</title>\n";
    image += kStyle;
    if (shapes_.find("class=\"l\"") != std::string::npos)
      image += kHatching;
    Append(&image, "<rect class=\"b\" width=\"%.0f\" height=\"%.0f\"/>\n",
           width_, y_);
    DrawAxis(&image);
    return image + shapes_ + "</svg>\n";
  }

 private:
  static double LettersOf(const std::string& text) {
    return static_cast<double>(CountLetters(text));
  }

  std::string LabelOf(const TrackRow& row) const {
    return pztrace::LabelOf(InfoOf(row.track, tracks_));
  }

  // Returns the text below the label of a counter.
  std::string MaxText(const TrackRow& row) const {
    double high = 0;
    for (const CounterValue& value : row.events->values) {
      if (isfinite(value.value))
        high = std::max(high, value.value);
    }
    const std::string& unit = InfoOf(row.track, tracks_).unit;
    return "max " + NumberText(high) + (unit.empty() ? "" : " ") + unit;
  }

  // Places the time to the right of the labels.
  void PlaceTime() {
    double label = 0;
    for (const TrackRow& row : rows_) {
      if (!row.events)
        continue;
      double letters = LettersOf(LabelOf(row));
      if (!row.events->values.empty())
        letters = std::max(letters, LettersOf(MaxText(row)));
      label = std::max(label, kIndent * (row.level + 1) + kLetter * letters);
    }
    left_ = kMargin + std::min(label, kMaxLabel) + kMargin;
    scale_ =
        (width_ - kMargin - left_) / static_cast<double>(to_ns_ - from_ns_);
  }

  // Returns the place of a time, which may be outside.
  double X(uint64_t time_ns) const {
    const uint64_t origin_ns = first_ns_ + from_ns_;
    return time_ns >= origin_ns
               ? left_ + static_cast<double>(time_ns - origin_ns) * scale_
               : left_ - static_cast<double>(origin_ns - time_ns) * scale_;
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
    const double step = RoundStep(90 / scale_);
    // The steps are whole nanoseconds: doubles of a long time are further apart
    // than that.
    const auto step_ns = static_cast<uint64_t>(std::min(step, 1e19));
    const uint64_t first_ns = (from_ns_ + step_ns - 1) / step_ns * step_ns;
    for (uint64_t i = 0; i <= (to_ns_ - from_ns_) / step_ns; ++i) {
      const uint64_t time_ns = first_ns + i * step_ns;
      if (time_ns > to_ns_ || time_ns < from_ns_)
        break;
      const double time = static_cast<double>(time_ns);
      const double x = left_ + static_cast<double>(time_ns - from_ns_) * scale_;
      Append(out, "<path class=\"g\" d=\"M%.1f %.0fV%.0f\"/>\n", x, kMargin,
             y_ - kMargin);
      const std::string text = AxisText(time, step);
      if (x + kLetter * LettersOf(text) < right())
        DrawText("q", x + 3, kMargin + 11, text, out);
    }
  }

  // Returns a time in the unit of the step, so that the numbers are easy to
  // compare.
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

  void DrawRow(const TrackRow& row) {
    DrawLabel(row);
    if (!row.events) {
      y_ += kLineHeight;
      return;
    }
    double height = kLineHeight;
    if (!row.events->values.empty()) {
      DrawCounter(row);
      height = kCounterHeight;
    }
    double bottom = 0;
    for (const std::vector<RowSlice>& slices : row.events->slices) {
      DrawSlices(slices, y_ + bottom);
      bottom += kLineHeight;
    }
    DrawInstants(row.events->instants);
    DrawLost(row.events->lost, std::max(height, bottom));
    y_ += std::max(height, bottom) + kRowGap;
  }

  void DrawLabel(const TrackRow& row) {
    const TrackInfo& info = InfoOf(row.track, tracks_);
    const char* style = info.is_process ? "p" : "t";
    const double x = kMargin + kIndent * row.level;
    // A track without events has nothing to the right of its label.
    const double end = row.events ? left_ : right();
    DrawText(style, x, y_ + 13, Fitting(LabelOf(row), end - kMargin - x),
             &shapes_);
  }

  void DrawSlices(const std::vector<RowSlice>& slices, double y) {
    double many_begin = 0;
    double many_end = 0;
    uint64_t many = 0;
    const auto draw_many = [&] {
      if (many == 0)
        return;
      Append(&shapes_,
             "<rect class=\"m\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
             "height=\"%.0f\"><title>%s</title></rect>\n",
             many_begin, y, std::max(kMinSlice, many_end - many_begin),
             kSliceHeight, CountOf(many, "slice").c_str());
      many = 0;
    };
    for (const RowSlice& slice : slices) {
      const double begin = std::max(left_, X(slice.begin_ns));
      const double end =
          std::min(right(), X(slice.begin_ns + slice.duration_ns));
      if (end < left_ || begin > right())
        continue;
      if (end - begin >= kMinSlice) {
        draw_many();
        DrawSlice(slice, begin, end, y);
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

  void DrawSlice(const RowSlice& slice, double begin, double end, double y) {
    const std::string& name = NameOf(*slice.text);
    Append(&shapes_,
           "<rect class=\"c%u%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
           "height=\"%.0f\" rx=\"1.5\"><title>",
           slice.text_id % kNumColors, slice.is_open ? " o" : "", begin, y,
           end - begin, kSliceHeight);
    shapes_ += XmlText(name);
    if (!slice.text->category.empty())
      shapes_ += " (" + XmlText(slice.text->category) + ")";
    shapes_ += std::string(": ") + (slice.is_open ? "not ended after " : "") +
               DurationText(slice.duration_ns) + ", at " +
               DurationText(slice.begin_ns - first_ns_) + "</title></rect>\n";
    const std::string text = Fitting(name, end - begin - 6);
    if (!text.empty())
      DrawText("s", begin + 3, y + 12.5, text, &shapes_);
  }

  void DrawInstants(const std::vector<Instant>& instants) {
    double last = -kMinSlice;
    for (const Instant& instant : instants) {
      const double x = X(instant.time_ns);
      if (x < left_ || x > right() || x - last < kMinSlice)
        continue;
      last = x;
      Append(&shapes_, "<path class=\"i\" d=\"M%.1f %.1fl-3.5 6h7z\"><title>",
             x, y_);
      shapes_ += XmlText(NameOf(*instant.text)) + ", at " +
                 DurationText(instant.time_ns - first_ns_) +
                 "</title></path>\n";
    }
  }

  // Draws losses hatched. Those that are too close to be told apart are one.
  void DrawLost(const std::vector<LostStretch>& stretches, double height) {
    double begin = 0;
    double end = 0;
    uint64_t ns = 0;
    uint64_t count = 0;
    const auto draw = [&] {
      if (count == 0)
        return;
      Append(&shapes_,
             "<rect class=\"l\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
             "height=\"%.0f\"><title>",
             begin, y_, std::max(kMinLost, end - begin), height - 1);
      shapes_ += "packets lost: " + DurationText(ns);
      if (count > 1)
        shapes_ += " in " + std::to_string(count) + " places";
      shapes_ += "</title></rect>\n";
      count = 0;
      ns = 0;
    };
    for (const LostStretch& lost : stretches) {
      const double lost_begin = std::max(left_, X(lost.begin_ns));
      const double lost_end = std::min(right(), X(lost.end_ns));
      if (lost_end < left_ || lost_begin > right())
        continue;
      if (count != 0 && lost_begin > std::max(end, begin + kMinLost))
        draw();
      if (count++ == 0)
        begin = end = lost_begin;
      end = std::max(end, lost_end);
      ns += lost.end_ns - lost.begin_ns;
    }
    draw();
  }

  // Draws a line with steps.
  void DrawCounter(const TrackRow& row) {
    const std::vector<CounterValue>& values = row.events->values;
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
      // Only the last value in each pixel is drawn.
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
    shapes_ += "<path class=\"v\" d=\"" + path + "\"><title>" +
               XmlText(LabelOf(row)) + ": " + NumberText(low) + " to " +
               NumberText(high) + "</title></path>\n";
    const double x = kMargin + kIndent * (row.level + 1);
    DrawText("q", x, y_ + 28, Fitting(MaxText(row), left_ - x), &shapes_);
  }

  const Tracks& tracks_;
  const double width_;
  const uint64_t first_ns_;
  const uint64_t length_ns_;
  // The shown range since the first event.
  const uint64_t from_ns_;
  const uint64_t to_ns_;
  const std::vector<TrackRow> rows_;
  double left_ = 0;   // The place where time begins.
  double scale_ = 1;  // Pixels for a nanosecond.
  double y_ = 0;      // The top of the next row.
  std::string shapes_;
};

}  // namespace

std::string DrawPicture(const Tracks& tracks,
                        const PictureOptions& options,
                        TrackRows* rows) {
  return Drawing(tracks, options, rows).Draw();
}

}  // namespace pztrace
