#include "tpsp/Abi/TextTable.h"

#include <algorithm>

using namespace tpsp;

/// Bytes that continue a character are not counted.
static size_t widthOf(const std::string &text) {
  return size_t(std::count_if(text.begin(), text.end(),
                              [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<size_t> TextTable::widths() const {
  std::vector<size_t> widths(columns.size());
  for (const auto &[cells, line] : rows)
    for (size_t i = 0; i < cells.size(); ++i)
      if (i + 1 < cells.size() || cells.size() == columns.size())
        widths[i] = std::max(widths[i], widthOf(cells[i]));
  return widths;
}

std::string TextTable::lineOf(const Row &row,
                              const std::vector<size_t> &widths) const {
  if (row.cells.empty())
    return row.line;
  std::string line(indent, ' ');
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const std::string &cell = row.cells[i];
    size_t width = widthOf(cell);
    std::string space(width < widths[i] ? widths[i] - width : 0, ' ');
    if (i > 0)
      line += "  ";
    line += columns[i] == 'r' ? space + cell : cell + space;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string TextTable::text() const {
  std::vector<size_t> widths = this->widths();
  std::string text;
  for (const Row &row : rows)
    text += lineOf(row, widths) + "\n";
  return text;
}
