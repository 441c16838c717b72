/// Interpolates and extrapolates measured tables.
#ifndef TPSP_SCHEDULE_SIZETABLE_H
#define TPSP_SCHEDULE_SIZETABLE_H

#include "tpsp/Schedule/Hardware.h"

namespace tpsp {

/// The value at a size. Between two points it is linear in the logarithms of
/// both; outside the table it is the nearest point's value. The table must not
/// be empty, and its values must be above 0.
double valueAt(const SizeTable &table, double bytes);

/// Seconds at a size, from a table of seconds. Between points it is valueAt().
/// Above the last point the rate is that point's. Below the first point it is
/// on the line from `atZero` seconds at 0 bytes, so that cutting a transfer
/// into pieces is never free.
double secondsAt(const SizeTable &table, double bytes, double atZero);

} // namespace tpsp

#endif // TPSP_SCHEDULE_SIZETABLE_H
