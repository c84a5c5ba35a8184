#include "report/front_svg.h"

#include <algorithm>
#include <cmath>

#include "report/table.h"

namespace thimble {
namespace {

// Pixels of the drawing and of the field inside the axes.
constexpr double kWidth = 880, kHeight = 480, kLeft = 72, kRight = 856, kTop = 64, kBottom = 420;

constexpr const char* kStyle =
    "  <style>\n"
    "    svg { background: #ffffff; color: #1c1e21; font: 13px sans-serif; }\n"
    "    text { fill: currentColor; }\n"
    "    .title { font-size: 16px; font-weight: 600; }\n"
    "    .quiet { opacity: 0.7; }\n"
    "    .axis { stroke: currentColor; }\n"
    "    .grid { stroke: currentColor; opacity: 0.12; }\n"
    "    .budget { stroke: #b3261e; stroke-dasharray: 5 4; }\n"
    "    .curve { fill: none; stroke: #1f6fb2; stroke-width: 1.5; opacity: 0.6; }\n"
    "    .lossless { fill: #1f6fb2; }\n"
    "    .curve.lever { stroke: #c2680a; }\n"
    "    path.lever { fill: #ffffff; stroke: #c2680a; stroke-width: 1.8; }\n"
    "    @media (prefers-color-scheme: dark) {\n"
    "      svg { background: #15181c; color: #e4e6e9; }\n"
    "      .curve { stroke: #6db3f2; }\n"
    "      .lossless { fill: #6db3f2; }\n"
    "      .curve.lever { stroke: #f0a04b; }\n"
    "      path.lever { fill: #15181c; stroke: #f0a04b; }\n"
    "      .budget { stroke: #f2837b; }\n"
    "    }\n"
    "  </style>\n";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      // XML knows no other control characters than these.
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

// A round step (1, 2 or 5 times a power of ten) that parts the range into five or so.
double round_step(double range) {
  const double rough = std::max(range, 1e-12) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

struct Axis {
  Axis(double lowest, double highest, double begin, double end)
      : step(round_step(highest - lowest)),
        low(std::floor(lowest / step) * step),
        high(std::max(std::ceil(highest / step), std::floor(lowest / step) + 1) * step),
        from(begin),
        to(end) {}

  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
  int tick_count() const { return static_cast<int>(std::lround((high - low) / step)) + 1; }
  double tick(int index) const { return low + index * step; }
  int digits() const { return std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9))); }

  double step, low, high;
  double from, to;  // pixels
};

double mib(Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }

class Drawing {
 public:
  explicit Drawing(const FrontReport& report)
      : report_(report),
        fastest_(report.points.front().seconds),
        x_(mib(extreme(false)), mib(extreme(true)), kLeft, kRight),
        y_(1, slowest(), kBottom, kTop) {}

  std::string run() {
    out_ = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
        "role=\"img\">\n",
        kWidth, kHeight, kWidth, kHeight);
    const std::string title = escaped("Memory against time: " + report_.title);
    out_ += join_text("  <title>", title, "</title>\n", kStyle);
    text(kLeft, 28, "title", "start", title);
    axes();
    budget();
    for (const bool is_lossless : {true, false}) series(is_lossless);
    return out_ + "</svg>\n";
  }

 private:
  Bytes extreme(bool largest) const {
    Bytes found = report_.budget.value_or(report_.points.front().process_bytes);
    for (const PointSummary& p : report_.points)
      found = largest ? std::max(found, p.process_bytes) : std::min(found, p.process_bytes);
    return found;
  }

  double slowest() const {
    double most = 1;
    for (const PointSummary& p : report_.points) most = std::max(most, p.seconds / fastest_);
    return most;
  }

  void text(double x, double y, const char* kind, const char* anchor, const std::string& words) {
    out_ += format("  <text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, kind, anchor) + words +
            "</text>\n";
  }

  void line(double x1, double y1, double x2, double y2, const char* kind) {
    out_ += format("  <line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, kind);
  }

  void axes() {
    for (int k = 0; k < x_.tick_count(); ++k) {
      const double x = x_.at(x_.tick(k));
      line(x, kTop, x, kBottom, "grid");
      text(x, kBottom + 20, "quiet", "middle", format("%.*f", x_.digits(), x_.tick(k)));
    }
    for (int k = 0; k < y_.tick_count(); ++k) {
      const double y = y_.at(y_.tick(k));
      line(kLeft, y, kRight, y, "grid");
      text(kLeft - 8, y + 4, "quiet", "end", format("%.*f", y_.digits(), y_.tick(k)));
    }
    line(kLeft, kBottom, kRight, kBottom, "axis");
    line(kLeft, kTop, kLeft, kBottom, "axis");
    text((kLeft + kRight) / 2, kBottom + 44, "label", "middle", "process memory (MiB)");
    text(kLeft, kTop - 12, "label", "start", "predicted time of an iteration, fastest = 1");
  }

  void budget() {
    if (!report_.budget) return;
    const double x = x_.at(mib(*report_.budget));
    line(x, kTop, x, kBottom, "budget");
    text(x + 5, kTop + 14, "quiet", "start", "budget " + to_mib(*report_.budget));
  }

  // The points of one kind, the curve through them and their entry in the legend.
  void series(bool is_lossless) {
    std::string curve, marks;
    int count = 0;
    for (const PointSummary& point : report_.points) {
      if (point.levers.empty() != is_lossless) continue;
      const double x = x_.at(mib(point.process_bytes)), y = y_.at(point.seconds / fastest_);
      curve += format("%s%.1f,%.1f", count == 0 ? "" : " ", x, y);
      marks += "  " + mark(x, y, is_lossless) + "<title>" + escaped(tip(point)) + "</title></path>\n";
      ++count;
    }
    if (count == 0) return;
    out_ += join_text("  <polyline class=\"curve", is_lossless ? "" : " lever", "\" points=\"", curve, "\"/>\n", marks);
    const double y = is_lossless ? kTop + 18 : kTop + 40;
    out_ += join_text("  <g>", mark(kRight - 178, y - 4, is_lossless, "legend"), "</path></g>\n");
    text(kRight - 166, y, "label", "start", is_lossless ? "lossless" : "changes the result");
  }

  static std::string mark(double x, double y, bool is_lossless, const char* kind = "point") {
    // Both shapes are paths, so that every point is one and the same kind of element.
    const std::string shape = is_lossless ? format("M%.1f,%.1fa3.2,3.2 0 1,0 6.4,0a3.2,3.2 0 1,0 -6.4,0z", x - 3.2, y)
                                          : format("M%.1f,%.1fl4.5,4.5l-4.5,4.5l-4.5,-4.5z", x, y - 4.5);
    return join_text("<path class=\"", is_lossless ? "lossless " : "lever ", kind, "\" d=\"", shape, "\">");
  }

  std::string tip(const PointSummary& point) const {
    return join_text(to_mib(point.process_bytes), ", time ", format("%.3f", point.seconds / fastest_), ", ",
                     point.strategy, "\n", command_for(report_, point));
  }

  const FrontReport& report_;
  double fastest_;
  Axis x_, y_;
  std::string out_;
};

}  // namespace

std::string front_svg(const FrontReport& report) { return Drawing(report).run(); }

}  // namespace thimble
