#include "tpsp/Runtime/Driver/Pictures/SvgDocument.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::rt;

static constexpr const char *replacement = "\xEF\xBF\xBD";

/// The number of bytes of the UTF-8 character that begins at `at`. 0 if there
/// is none, or if XML does not allow the character.
static size_t characterLength(const std::string &text, size_t at) {
  auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  unsigned lead = byte(at);
  if (lead < 0x80)
    return lead >= 0x20 || lead == '\t' || lead == '\n' ? 1 : 0;
  size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4)
    return 0;
  unsigned code = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80)
      return 0;
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  static constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool isSurrogate = code >= 0xD800 && code < 0xE000;
  if (code < least[length] || isSurrogate || code == 0xFFFE || code == 0xFFFF ||
      code > 0x10FFFF)
    return 0;
  return length;
}

std::string tpsp::rt::escapeXml(const std::string &text) {
  std::string escaped;
  for (size_t at = 0; at < text.size();) {
    size_t length = characterLength(text, at);
    if (length == 0) {
      escaped += replacement;
      ++at;
      continue;
    }
    switch (text[at]) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    case '\'':
      escaped += "&#39;";
      break;
    default:
      escaped.append(text, at, length);
    }
    at += length;
  }
  return escaped;
}

double tpsp::rt::textWidth(const std::string &text, double size) {
  double characters = 0;
  for (unsigned char c : text)
    characters += (c & 0xC0) != 0x80;
  return 0.6 * size * characters;
}

std::string tpsp::rt::coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0')
    text.pop_back();
  if (text.back() == '.')
    text.pop_back();
  return text == "-0" ? "0" : text;
}

void SvgDocument::rectangle(const Box &box, const std::string &attributes,
                            const std::string &title) {
  body +=
      fmt::format("<rect x='{}' y='{}' width='{}' height='{}' {}",
                  coordinate(box.x), coordinate(box.y), coordinate(box.width),
                  coordinate(box.height), attributes);
  body += title.empty() ? "/>\n"
                        : "><title>" + escapeXml(title) + "</title></rect>\n";
}

void SvgDocument::path(const std::string &data, const std::string &attributes) {
  body += fmt::format("<path d='{}' {}/>\n", data, attributes);
}

void SvgDocument::line(double x1, double y1, double x2, double y2,
                       const std::string &attributes) {
  body += fmt::format("<line x1='{}' y1='{}' x2='{}' y2='{}' {}/>\n",
                      coordinate(x1), coordinate(y1), coordinate(x2),
                      coordinate(y2), attributes);
}

void SvgDocument::circle(double x, double y, double radius,
                         const std::string &attributes) {
  body += fmt::format("<circle cx='{}' cy='{}' r='{}' {}/>\n", coordinate(x),
                      coordinate(y), coordinate(radius), attributes);
}

void SvgDocument::letters(double x, double y, const std::string &escaped,
                          const TextStyle &style, const std::string &paint) {
  body += fmt::format(
      "<text x='{}' y='{}' font-size='{}' text-anchor='{}'{} {}>{}</text>\n",
      coordinate(x), coordinate(y), coordinate(style.size), style.anchor,
      style.bold ? " font-weight='bold'" : "", paint, escaped);
}

void SvgDocument::text(double x, double y, const std::string &text,
                       const TextStyle &style) {
  std::string escaped = escapeXml(text);
  if (style.halo)
    letters(x, y, escaped, style,
            fmt::format("fill='none' stroke='{}' stroke-width='4.5' "
                        "stroke-linejoin='round' aria-hidden='true'",
                        style.halo));
  letters(x, y, escaped, style, fmt::format("fill='{}'", style.color));
}

std::string SvgDocument::finish(double width, double height,
                                const std::string &title) const {
  return fmt::format(
      "<?xml version='1.0' encoding='UTF-8'?>\n"
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' "
      "viewBox='0 0 {0} {1}' font-family='Helvetica, Arial, sans-serif'>\n"
      "<title>{2}</title>\n"
      "<rect width='{0}' height='{1}' fill='#fff'/>\n{3}{4}</svg>\n",
      coordinate(width), coordinate(height), escapeXml(title), definitions,
      body);
}
