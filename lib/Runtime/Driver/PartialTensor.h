/// How the ranks' summands of a partial tensor are combined.
#ifndef TPSP_RUNTIME_DRIVER_PARTIALTENSOR_H
#define TPSP_RUNTIME_DRIVER_PARTIALTENSOR_H

namespace tpsp::rt {

/// Adds a rank's summand, or takes the larger of the two.
void combine(double value, bool isMaximum, double &combined);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PARTIALTENSOR_H
