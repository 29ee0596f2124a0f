# `wharf pipeline profile`, `worker`, `serve` and `load`: commands of wharf-model.
target_sources(wharf_model PRIVATE pipeline_load_command.cc pipeline_profile_command.cc pipeline_runtime_options.cc
                                   pipeline_serve_command.cc pipeline_worker_command.cc)
target_link_libraries(wharf_model PRIVATE wharf::pipeline_runtime wharf::pipeline_planner)
