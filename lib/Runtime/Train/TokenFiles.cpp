#include "tpsp/Runtime/Train/TokenFiles.h"
#include "tpsp/Abi/InvalidStatus.h"

#include "TokenFormats.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

Status TokenFiles::open(const std::vector<std::string> &paths,
                        const std::string &format, TokenFiles &out) {
  TokenFiles files;
  for (const std::string &path : paths) {
    TokenSpan span;
    TPSP_TRY(openTokens(path, format, span));
    files.total += span.count;
    files.spans.push_back(std::move(span));
  }
  if (files.total == 0)
    return invalid("'{}' has no tokens", paths.empty() ? "" : paths[0]);
  out = std::move(files);
  return {};
}

std::pair<const TokenSpan *, int64_t> TokenFiles::find(int64_t token) const {
  for (const TokenSpan &span : spans) {
    if (token < span.count)
      return {&span, token};
    token -= span.count;
  }
  return {&spans.back(), spans.back().count};
}

/// The token at `bytes`, little endian, as an unsigned number.
static int64_t tokenAt(const unsigned char *bytes, int width) {
  uint64_t value = 0;
  for (int i = 0; i < width; ++i)
    value |= uint64_t(bytes[i]) << (8 * i);
  return static_cast<int64_t>(value);
}

void TokenFiles::read(int64_t begin, int64_t count, int64_t *tokens) const {
  while (count > 0) {
    auto [span, at] = find(begin);
    int64_t some = std::min(count, span->count - at);
    const unsigned char *bytes =
        span->file.data() + span->begin + at * span->width;
    for (int64_t i = 0; i < some; ++i)
      tokens[i] = tokenAt(bytes + i * span->width, span->width);
    begin += some;
    tokens += some;
    count -= some;
  }
}

int64_t TokenFiles::count(int64_t token, int64_t most) const {
  std::vector<int64_t> some(1 << 16);
  int64_t found = 0, end = std::min(most, total);
  for (int64_t at = 0; at < end;) {
    int64_t n = std::min<int64_t>(some.size(), end - at);
    read(at, n, some.data());
    found += std::count(some.begin(), some.begin() + n, token);
    at += n;
  }
  return found;
}

std::vector<std::string> TokenFiles::paths() const {
  std::vector<std::string> paths;
  for (const TokenSpan &span : spans) {
    paths.push_back(span.path);
    if (!span.indexPath.empty())
      paths.push_back(span.indexPath);
  }
  return paths;
}

std::string TokenFiles::placeOf(int64_t token) const {
  auto [span, at] = find(token);
  return fmt::format("'{}' at token {}", span->path, at);
}
