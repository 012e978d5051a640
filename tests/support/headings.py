"""What each of the nine pages says first, in the three languages. Typed here, not translated."""

__all__ = ["HEADINGS"]

HEADINGS = {
    "ar": {
        "paid": "تم استلام دفعتك",
        "preparing": "تم استلام دفعتك – يجري تجهيز طلبك",
        "checking": "تم استلام دفعتك – نقوم بمراجعتها",
        "rejected": "تم استلام دفعتك – تعذّر إكمال طلبك",
        "returned": "أُعيدت هذه الدفعة",
        "processing": "دفعتك قيد المعالجة",
        "not_paid": "لم تكتمل عملية الدفع",
        "unavailable": "لا يمكننا تأكيد دفعتك الآن",
        "unknown": "لم نجد هذه الدفعة",
    },
    "he": {
        "paid": "התשלום התקבל",
        "preparing": "התשלום התקבל – ההזמנה שלכם בהכנה",
        "checking": "התשלום התקבל – אנחנו בודקים אותו",
        "rejected": "התשלום התקבל – לא ניתן היה להשלים את ההזמנה",
        "returned": "התשלום הוחזר",
        "processing": "התשלום עדיין בעיבוד",
        "not_paid": "התשלום לא הושלם",
        "unavailable": "לא ניתן לאשר את התשלום כרגע",
        "unknown": "לא מצאנו את התשלום",
    },
    "en": {
        "paid": "Payment received",
        "preparing": "Payment received – your order is being prepared",
        "checking": "Payment received – we are checking it",
        "rejected": "Payment received – your order could not be completed",
        "returned": "This payment was returned",
        "processing": "Your payment is still being processed",
        "not_paid": "Payment not completed",
        "unavailable": "We cannot confirm your payment right now",
        "unknown": "We could not find this payment",
    },
}
