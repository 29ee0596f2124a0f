// What a program that uses CUDA makes of SIGINT: `interrupted own` has a handler of its own, which leaves with 5;
// `interrupted child` forks a child that the signal ends. Prints "ready" when the device is in use. Exit codes: 0 the
// child was ended by the signal, 3 a CUDA error, 4 the child went on.
#include <cuda_runtime.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

static int EndsOfTheChild() {
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGINT);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 4;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGINT ? 0 : 4;
}

int main(int argc, char** argv) {
  int* value = nullptr;
  if (cudaMalloc(&value, sizeof *value) != cudaSuccess) return 3;
  const bool own = argc > 1 && std::strcmp(argv[1], "own") == 0;
  if (own) signal(SIGINT, [](int) { _exit(5); });
  std::puts("ready");
  std::fflush(stdout);
  if (!own) return EndsOfTheChild();
  while (cudaMemset(value, 0, sizeof *value) == cudaSuccess) {
  }
  return 3;
}
