# A server for another processor, run by its emulator: programs of the conformance suite as this machine has them, and
# some as that processor has them, which are built for it. They print what they print here.
list(GET CMAKE_CROSSCOMPILING_EMULATOR 0 qemu)
list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " runner)
set(here ${CMAKE_CURRENT_LIST_DIR})
add_library(wharf_emulated_kernel MODULE ${here}/emulated_kernel.cc)
target_compile_definitions(wharf_emulated_kernel PRIVATE WHARF_QEMU="${qemu}" WHARF_SYSROOT="${CMAKE_SYSROOT}")
add_dependencies(wharf_emulated_kernel wharf)
set(server "${runner} -E LD_PRELOAD=$<TARGET_FILE:wharf_emulated_kernel> $<TARGET_FILE:wharf>")
set(common "WHARF_BIN=${WHARF_SERVER_BUILD}/bin" "WHARF_SERVER=${server}" "WHARF_SERVER_PROGRAMS=${WHARF_SERVER_BUILD}/cuda"
    "WHARF_TIMEOUT=1500s"  # it compiles kernels, emulated
    "CUDA_LIBRARIES=${WHARF_CUDA_HOME}/lib64")

# wharf_emulated_server_test(NAME WAY PROGRAM VARIABLE=VALUE...)
function(wharf_emulated_server_test name way program)
  add_test(NAME cuda.${name} COMMAND ${here}/with_server.sh ${way} ${CMAKE_BINARY_DIR}/cuda/output ${program})
  set_tests_properties(cuda.${name} PROPERTIES LABELS cuda TIMEOUT 1800 ENVIRONMENT "${common};${ARGN}")
endfunction()

# float_arith and math are not among them: they print the bits of NaNs that arithmetic makes, which are each processor's
# own.
set(programs integer_arith conversions half_bf16 bit_ops video_ops atomics shared_barriers warp_ops control_flow
    memory_spaces printf_assert_trap streams_events memcpy_forms error_semantics launch_attributes multi_thread
    thrust_algorithms cub_primitives cooperative_groups curand_device cuda_std arrays textures texture_objects mipmaps graphs
    compute_80 mbarriers tensor_cores float8 compute_90 driver_textures managed_memory cooperative_launches virtual_memory
    management cublas_gemm cublas_solve cublas_vectors stream_capture cublaslt relocatable conditional_graphs)
if(WHARF_CUDNN)
  list(APPEND programs cudnn_convolution cudnn_operations cudnn_recurrent)
endif()
if(WHARF_CUFFT)
  list(APPEND programs cufft_transforms)
endif()
if(WHARF_CUSOLVER)
  list(APPEND programs cusolver_dense)
endif()
foreach(program ${programs})
  wharf_emulated_server_test(${program}.local local ${WHARF_SERVER_BUILD}/cuda/${program})
  set_tests_properties(cuda.${program}.local PROPERTIES FIXTURES_SETUP cuda_${program})
  wharf_emulated_server_test(${program}.posted posted ${WHARF_SERVER_BUILD}/cuda/${program})
  set_tests_properties(cuda.${program}.posted PROPERTIES FIXTURES_REQUIRED cuda_${program})
endforeach()

# Client and server are emulated.
foreach(program integer_arith conversions shared_barriers warp_ops error_semantics)
  wharf_cuda_program(${program} SOURCES cuda/${program}.cu FLAGS -gencode arch=compute_75,code=compute_75)
  foreach(way percall replay)
    wharf_emulated_server_test(${program}.${way} ${way} ${CMAKE_BINARY_DIR}/cuda/${program}
                               "WHARF_CLIENT=${runner} $<TARGET_FILE:wharf>" "WHARF_EMULATOR=${runner}")
    set_tests_properties(cuda.${program}.${way} PROPERTIES FIXTURES_REQUIRED cuda_${program})
  endforeach()
endforeach()
