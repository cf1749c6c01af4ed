// Whether a page without scripts is the same after its window got another width as if it had been loaded at that: not if
// it chooses among images, loads some when they are near, or holds other documents or players.
() => !document.querySelector('[srcset],[imagesrcset],picture,[loading=lazy],iframe,frame,object,embed,video,audio')
