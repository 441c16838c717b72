#include "tpsp/Abi/Quantity.h"

#include <fmt/format.h>

#include <cmath>

std::string tpsp::rt::bytesText(double bytes) {
  static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                      "TiB", "PiB", "EiB"};
  constexpr double tooMany = 9223372036854775808.0; // 2^63
  if (bytes >= tooMany)
    return "more than 8 EiB";
  int unit = 0;
  for (; bytes >= 1024 && unit < 6; ++unit)
    bytes /= 1024;
  return unit ? fmt::format("{:.1f} {}", bytes, units[unit])
              : fmt::format("{:.0f} B", bytes);
}

std::string tpsp::rt::secondsText(double seconds) {
  if (!(seconds > 0))
    return "0 s";
  static const char *const units[] = {"s", "ms", "µs", "ns"};
  int unit = 0;
  // A value that rounds to 1000 of a unit is shown as 1 of the next unit.
  for (; seconds < 0.9995 && unit < 3; ++unit)
    seconds *= 1000;
  int whole = 1 + static_cast<int>(std::floor(std::log10(seconds)));
  int decimals = whole < 3 ? (whole > 0 ? 3 - whole : 2) : 0;
  return fmt::format("{:.{}f} {}", seconds, decimals, units[unit]);
}

std::string tpsp::rt::counted(int64_t number, const char *noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}
