document.querySelector("button").addEventListener("click", () => {
  if (document.querySelector("input").value) {
    location.hash = "#/home";
    document.querySelector("h1").textContent = "Your account";
  }
});
