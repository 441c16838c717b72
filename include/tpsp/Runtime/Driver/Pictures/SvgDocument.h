/// Shapes and text of an SVG file. Coordinates are in its units, y downwards.
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_SVGDOCUMENT_H
#define TPSP_RUNTIME_DRIVER_PICTURES_SVGDOCUMENT_H

#include <string>

namespace tpsp::rt {

/// Escapes text for XML. Markup characters are escaped. Invalid UTF-8, and
/// characters that XML does not allow, are replaced by U+FFFD.
std::string escapeXml(const std::string &text);

/// Approximate width of a text of this size in a common sans-serif font, in
/// units of the file.
double textWidth(const std::string &text, double size);

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

/// The appearance of text.
struct TextStyle {
  double size = 12;
  /// "start", "middle" or "end".
  const char *anchor = "start";
  const char *color = "#222";
  bool bold = false;
  /// The colour of an outline for letters on a pattern; null for none.
  const char *halo = nullptr;
};

class SvgDocument {
public:
  /// Added to the head: <defs>, <style>.
  void define(const std::string &markup) { definitions += markup + "\n"; }

  /// `attributes`: "fill='#ddd'". `title` is shown when the pointer is on the
  /// shape; empty for none.
  void rectangle(const Box &box, const std::string &attributes,
                 const std::string &title = "");
  /// `data` is that of a path element.
  void path(const std::string &data, const std::string &attributes);
  void line(double x1, double y1, double x2, double y2,
            const std::string &attributes);
  void circle(double x, double y, double radius, const std::string &attributes);
  /// Escapes `text`.
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
