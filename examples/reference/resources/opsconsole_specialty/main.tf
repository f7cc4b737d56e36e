resource "opsconsole_specialty" "database" {
  key             = "database"
  deletion_policy = "abandon"
}

resource "opsconsole_specialty" "retired" {
  key      = "container-runtime"
  timeouts = { delete = "5m" }
}
