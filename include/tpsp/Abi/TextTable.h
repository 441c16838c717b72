/// Tables in text.
#ifndef TPSP_ABI_TEXTTABLE_H
#define TPSP_ABI_TEXTTABLE_H

#include <cstddef>
#include <string>
#include <vector>

namespace tpsp {

/// Rows of cells. Each column is as wide as its widest cell, in characters of
/// UTF-8, and two spaces separate columns. A line does not end in spaces.
class TextTable {
public:
  /// `columns` has a letter for each column: l aligns its cells to the left, r
  /// to the right. Each line begins with `indent` spaces.
  explicit TextTable(std::string columns, size_t indent = 2)
      : columns(std::move(columns)), indent(indent) {}

  /// Adds a row, which may have fewer cells than there are columns. The last
  /// cell of a shorter row may be a sentence: it widens no column.
  void add(std::vector<std::string> cells) {
    rows.push_back({std::move(cells), ""});
  }
  /// Adds a line that has no columns, and gets no indentation.
  void addLine(std::string line) { rows.push_back({{}, std::move(line)}); }

  /// The lines, each with a line break.
  std::string text() const;

private:
  /// `line` is the text of a row without cells.
  struct Row {
    std::vector<std::string> cells;
    std::string line;
  };
  std::vector<size_t> widths() const;
  std::string lineOf(const Row &row, const std::vector<size_t> &widths) const;

  std::string columns;
  size_t indent;
  std::vector<Row> rows;
};

} // namespace tpsp

#endif // TPSP_ABI_TEXTTABLE_H
