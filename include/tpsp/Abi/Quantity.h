/// Numbers with units, for people.
#ifndef TPSP_ABI_QUANTITY_H
#define TPSP_ABI_QUANTITY_H

#include <cstdint>
#include <string>

namespace tpsp::rt {

/// "812 B", "1.6 MiB"; from 2^63 on "more than 8 EiB". A saturated sum of
/// CheckedMath.h gives that text too.
std::string bytesText(double bytes);

/// "12.3 ms", "0.85 µs", "2.51 s": three digits.
std::string secondsText(double seconds);

/// "1 rank", "4 ranks".
std::string counted(int64_t number, const char *noun);

} // namespace tpsp::rt

#endif // TPSP_ABI_QUANTITY_H
