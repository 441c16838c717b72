/// MPI's error codes as sentences.
#ifndef TPSP_RUNTIME_MPI_MPISTATUS_H
#define TPSP_RUNTIME_MPI_MPISTATUS_H

#include <mpi.h>

#include <string>

namespace tpsp::rt {

/// "MPI_Isend failed: MPI_ERR_TRUNCATE: message truncated".
inline std::string mpiFailure(const char *call, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
    length = 0;
  return std::string(call) + " failed: " + std::string(text, length);
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_MPI_MPISTATUS_H
