# The Homebrew formula of a tap: the release workflow writes version and digest into it and adds it to the release.
# Libraries are wheels with the hashes of requirements.lock: several of them are not to be built from source in minutes.
class Adaptc < Formula
  desc "Compiler for static sites: the same pages for fewer bytes and requests"
  homepage "https://github.com/@REPOSITORY@"
  url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/adaptc-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "python@3.13"

  def install
    system "python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", "--require-hashes", "--requirement", "requirements.lock"
    system libexec/"bin/pip", "install", "--no-deps", "."
    bin.install_symlink libexec/"bin/adaptc"
    man1.install Dir["docs/man/*.1"]
    generate_completions_from_executable(bin/"adaptc", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    (testpath/"site/index.html").write "<!DOCTYPE html>\n<html lang=en><title>a</title>\n<p>  words\n"
    system bin/"adaptc", "web", "site", "public", "--no-browser"
    assert_path_exists testpath/"public/index.html"
  end
end
