#include "StoredParameter.h"

#include <charconv>
#include <sstream>

using namespace tpsp;
using namespace tpsp::rt;

StoredParameter::StoredParameter(const PlanBuffer &parameter) {
  if (parameter.kind == BufferKind::Parameter && parse(parameter))
    return;
  names = {parameter.name};
  part = parameter.shape;
  cut = -1;
  isStack = false;
}

int64_t StoredParameter::elementsOf(size_t dimension) const {
  int64_t product = 1;
  for (; dimension < part.size(); ++dimension)
    product *= part[dimension];
  return product;
}

bool StoredParameter::fits(const std::vector<int64_t> &stored) const {
  if (stored.size() != part.size())
    return false;
  for (size_t i = 0; i < part.size(); ++i)
    if (int64_t(i) == cut ? stored[i] < cutEnd : stored[i] != part[i])
      return false;
  return true;
}

/// Reads a range such as "4:8", whose end is larger than its beginning.
static bool parseRange(const std::string &text, int64_t &begin, int64_t &end) {
  const char *last = text.data() + text.size();
  auto [colon, error] = std::from_chars(text.data(), last, begin);
  if (error != std::errc() || colon == last || *colon != ':')
    return false;
  auto [rest, error2] = std::from_chars(colon + 1, last, end);
  return error2 == std::errc() && rest == last && 0 <= begin && begin < end;
}

/// Reads the ranges of all dimensions, such as ":, 4:8". At most one dimension
/// has a range; the others are whole.
bool StoredParameter::parseCut(const std::string &ranges) {
  std::istringstream stream(ranges);
  int64_t dimension = 0;
  for (std::string range; std::getline(stream, range, ','); ++dimension) {
    range.erase(0, range.find_first_not_of(' '));
    if (range == ":")
      continue;
    if (isCut() || !parseRange(range, cutBegin, cutEnd))
      return false;
    cut = dimension;
  }
  return isCut() && dimension == int64_t(part.size()) &&
         part[cut] == cutEnd - cutBegin;
}

bool StoredParameter::parse(const PlanBuffer &parameter) {
  std::string name = parameter.name;
  part = parameter.shape;
  size_t open = name.find('{'), close = name.find('}');
  isStack = open < close && close != std::string::npos && !part.empty();
  int64_t count = isStack ? part.front() : 1;
  if (isStack)
    part.erase(part.begin());
  size_t bracket = name.rfind('[');
  if (bracket != std::string::npos && name.back() == ']' &&
      !parseCut(name.substr(bracket + 1, name.size() - bracket - 2)))
    return false;
  if (isCut())
    name.resize(bracket);
  for (int64_t i = 0; i < count; ++i)
    names.push_back(isStack ? name.substr(0, open) + std::to_string(i) +
                                  name.substr(close + 1)
                            : name);
  return true;
}
