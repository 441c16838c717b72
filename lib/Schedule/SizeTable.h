/// Reading measured tables between and beside their points.
#ifndef TPSP_SCHEDULE_SIZETABLE_H
#define TPSP_SCHEDULE_SIZETABLE_H

#include "tpsp/Schedule/Hardware.h"

namespace tpsp {

/// The value at a size: between two points straight in the logarithms of both,
/// outside them the nearest point's. The table is not empty, its values are
/// above 0.
double valueAt(const SizeTable &table, double bytes);

/// A table of seconds by size. Between points as valueAt(), above the last at
/// its rate. Below the first on the line from `atZero` seconds for no bytes, so
/// that cutting a transfer in pieces is never free.
double secondsAt(const SizeTable &table, double bytes, double atZero);

} // namespace tpsp

#endif // TPSP_SCHEDULE_SIZETABLE_H
