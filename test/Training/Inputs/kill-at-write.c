// Preloaded into a program (LD_PRELOAD): kills it before or in the middle of
// its N-th change of a file system.
//
//   TPSP_KILL_AT=N       which change; 0: none, and a letter for each is printed:
//                        w for what is written, c for all else
//   TPSP_NO_EXCHANGE=1   two files or folders cannot change places
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long count;
static char kinds[1 << 16];

static long numberIn(const char *name) {
  const char *text = getenv(name);
  return text ? atol(text) : 0;
}

static int isNext(char kind) {
  long number = atomic_fetch_add(&count, 1);
  if (number < (long)sizeof kinds - 1)
    kinds[number] = kind;
  return number + 1 == numberIn("TPSP_KILL_AT");
}

static void die(void) { kill(getpid(), SIGKILL); }

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int isRegular(int file) {
  struct stat info;
  return fstat(file, &info) == 0 && S_ISREG(info.st_mode);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
  if (isNext('w')) {
    REAL(pwrite)(file, bytes, size / 2, offset);
    die();
  }
  return REAL(pwrite)(file, bytes, size, offset);
}
ssize_t pwrite64(int file, const void *bytes, size_t size, off_t offset) {
  return pwrite(file, bytes, size, offset);
}
ssize_t write(int file, const void *bytes, size_t size) {
  if (isRegular(file) && isNext('w')) {
    REAL(write)(file, bytes, size / 2);
    die();
  }
  return REAL(write)(file, bytes, size);
}
int fsync(int file) {
  if (isNext('c'))
    die();
  return REAL(fsync)(file);
}
int mkdir(const char *path, mode_t mode) {
  if (isNext('c'))
    die();
  return REAL(mkdir)(path, mode);
}
int rename(const char *from, const char *to) {
  if (isNext('c'))
    die();
  return REAL(rename)(from, to);
}
int renameat2(int fromIn, const char *from, int toIn, const char *to,
              unsigned flags) {
  if (numberIn("TPSP_NO_EXCHANGE") && flags) {
    errno = EINVAL;
    return -1;
  }
  if (isNext('c'))
    die();
  return REAL(renameat2)(fromIn, from, toIn, to, flags);
}
int unlink(const char *path) {
  if (isNext('c'))
    die();
  return REAL(unlink)(path);
}
int unlinkat(int in, const char *path, int flags) {
  if (isNext('c'))
    die();
  return REAL(unlinkat)(in, path, flags);
}
int rmdir(const char *path) {
  if (isNext('c'))
    die();
  return REAL(rmdir)(path);
}

__attribute__((destructor)) static void tell(void) {
  if (getenv("TPSP_KILL_AT") && numberIn("TPSP_KILL_AT") == 0)
    fprintf(stderr, "changes: %s\n", kinds);
}
