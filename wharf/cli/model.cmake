# The commands that run models, a program of its own: LibTorch stays out of `wharf`, which hands them over.
target_sources(wharf PRIVATE model_program.cc)
add_executable(wharf_model model_main.cc app.cc model_devices_command.cc model_worker_command.cc profile_command.cc server_access.cc
                           split_command.cc split_input.cc split_log.cc split_results.cc)
set_target_properties(wharf_model PROPERTIES OUTPUT_NAME wharf-model)
target_include_directories(wharf_model PRIVATE ${PROJECT_SOURCE_DIR})
target_include_directories(wharf_model SYSTEM PRIVATE ${WHARF_CLI11_INCLUDE})
target_link_libraries(wharf_model PRIVATE wharf::cli_text wharf::cli_split wharf::split_profiler wharf::split_runtime
                                          wharf::link wharf::power wharf::report wharf::server_options wharf::server_models nlohmann_json::nlohmann_json)
install(TARGETS wharf_model RUNTIME DESTINATION libexec/wharf)
# Spawns the real program.
wharf_test(cli_split SOURCES split_command_test.cc DEPS nlohmann_json::nlohmann_json)
if(WHARF_TESTS)
  target_compile_definitions(cli_split_split_command_test PRIVATE
    WHARF_BINARY="$<TARGET_FILE:wharf>" WHARF_MODEL_BINARY="$<TARGET_FILE:wharf_model>" WHARF_TESTDATA="${PROJECT_SOURCE_DIR}/wharf/exec/testdata" WHARF_SPLIT_APP="$<TARGET_FILE:split_app>")
  add_dependencies(cli_split_split_command_test wharf wharf_model split_app)
  # LeakSanitizer wants ptrace, which a sandboxed worker does not have.
  set_property(TEST cli_split.split_command_test APPEND PROPERTY ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
endif()
