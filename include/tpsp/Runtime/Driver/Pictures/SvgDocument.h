/// Shapes and text of an SVG file. Coordinates are in its units, y downwards.
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_SVGDOCUMENT_H
#define TPSP_RUNTIME_DRIVER_PICTURES_SVGDOCUMENT_H

#include <string>

namespace tpsp::rt {

/// Text as XML allows it: markup characters escaped, and what is not UTF-8, or
/// no character of XML, replaced by U+FFFD.
std::string escapeXml(const std::string &text);

/// Units that text of this size takes, about: for a common sans-serif font.
double textWidth(const std::string &text, double size);

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

/// How text is set.
struct TextStyle {
  double size = 12;
  /// "start", "middle" or "end".
  const char *anchor = "start";
  const char *color = "#222";
  bool bold = false;
  /// Drawn round the letters, where they stand on a pattern; null for none.
  const char *halo = nullptr;
};

class SvgDocument {
public:
  /// Added to the head: <defs>, <style>.
  void define(const std::string &markup) { definitions += markup + "\n"; }

  /// `attributes`: "fill='#ddd'". `title`: shown by viewers where the pointer
  /// is; empty for none.
  void rectangle(const Box &box, const std::string &attributes,
                 const std::string &title = "");
  /// `data`: as in a path element.
  void path(const std::string &data, const std::string &attributes);
  void line(double x1, double y1, double x2, double y2,
            const std::string &attributes);
  void circle(double x, double y, double radius, const std::string &attributes);
  /// `text` is escaped here.
  void text(double x, double y, const std::string &text,
            const TextStyle &style);

  /// The whole file.
  std::string finish(double width, double height,
                     const std::string &title) const;

private:
  void letters(double x, double y, const std::string &escaped,
               const TextStyle &style, const std::string &paint);

  std::string definitions, body;
};

/// A coordinate with at most two decimals: "12.5".
std::string coordinate(double value);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_SVGDOCUMENT_H
