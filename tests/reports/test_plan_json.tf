variable "step" { default = 1 }
resource "terraform_data" "one" {
  input = {
    list = ["a", "b${var.step}"], nothing = null, empty = [], none = {}, port = 22, on = true,
    objects = [{ a = 1 }, { a = 2 }], text = "x\ny"
  }
}
resource "terraform_data" "keyed" {
  for_each         = var.step == 1 ? { x = 1, y = 2 } : { x = 1 }
  input            = terraform_data.one.id
  triggers_replace = ["t${var.step}"]
}
resource "terraform_data" "counted" {
  count = var.step == 1 ? 2 : 1
  input = "same"
}
resource "terraform_data" "first" {
  triggers_replace = ["t${var.step}"]
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "newer" { input = "moves" }
output "id" { value = terraform_data.one.id }
output "keyed" { value = [for item in terraform_data.keyed : item.id] }
output "plain" { value = { a = 1, b = ["x${var.step}"] } }
output "secret" {
  value     = "hush"
  sensitive = true
}
