# `wharf bench serving` and `wharf ar drop-table`, of wharf-model.
wharf_room(cli_serving SOURCES bench_serving_report.cc bench_serving_rows.cc DEPS wharf::serving wharf::report
           PRIVATE_DEPS nlohmann_json::nlohmann_json)
wharf_test(cli_serving SOURCES bench_serving_test.cc DEPS nlohmann_json::nlohmann_json)
wharf_room(cli_serving_engine SOURCES bench_serving_engine.cc DEPS wharf::ar wharf::perception wharf::serving
           PRIVATE_DEPS wharf::scene wharf::split_codec)
wharf_test(cli_serving_engine SOURCES bench_serving_engine_test.cc)
target_sources(wharf_model PRIVATE ar_drop_table.cc ar_drop_table_command.cc bench_serving.cc bench_serving_exec.cc)
target_link_libraries(wharf_model PRIVATE wharf::cli_serving wharf::cli_serving_engine wharf::ar wharf::ar_finders wharf::perception wharf::pipeline wharf::scene
                                          wharf::split_codec wharf::track)
