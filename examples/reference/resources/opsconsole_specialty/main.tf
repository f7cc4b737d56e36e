resource "opsconsole_specialty" "database" {
  key = "database"
}

resource "opsconsole_specialty" "retired" {
  key             = "container-runtime"
  deletion_policy = "delete"
  timeouts        = { delete = "5m" }
}
